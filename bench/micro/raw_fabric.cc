// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// A provider of libfabric (--provider) without MPI: tagged messages of one reliable-datagram endpoint, and writes with FI_DELIVERY_COMPLETE, as a
// program uses them that asks for what it needs and takes what it gets (memory registration, contexts). Both ends poll. See raw.h.
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <array>
#include <cstring>

#include "raw_socket.h"

namespace {

void check(const char* what, long status)
{
    if (status < 0)
        raw::fail(std::string(what) + ": " + fi_strerror(static_cast<int>(-status)));
}

struct Close {
    template <class T>
    void operator()(T* object) const { fi_close(&object->fid); }
};
template <class T>
using Owned = std::unique_ptr<T, Close>;

// object of fi_x(arguments..., &object, nullptr)
template <class T, class Open, class... Arguments>
Owned<T> opened(const char* what, Open open, Arguments... arguments)
{
    T* object = nullptr;
    check(what, open(arguments..., &object, nullptr));
    return Owned<T>(object);
}

class Fabric final : public raw::Connection {
public:
    Fabric(const raw::Options& options, bool leads) : socket_(options, leads)
    {
        find(options.provider);
        fabric_ = opened<fid_fabric>("fi_fabric", fi_fabric, info_->fabric_attr);
        domain_ = opened<fid_domain>("fi_domain", fi_domain, fabric_.get(), info_.get());
        fi_av_attr table{};
        table.type = info_->domain_attr->av_type;
        addresses_ = opened<fid_av>("fi_av_open", fi_av_open, domain_.get(), &table);
        fi_cq_attr queue{};
        queue.format = FI_CQ_FORMAT_TAGGED;
        queue.size = 1024;
        queue_ = opened<fid_cq>("fi_cq_open", fi_cq_open, domain_.get(), &queue);
        endpoint_ = opened<fid_ep>("fi_endpoint", fi_endpoint, domain_.get(), info_.get());
        check("fi_ep_bind", fi_ep_bind(endpoint_.get(), &addresses_->fid, 0));
        check("fi_ep_bind", fi_ep_bind(endpoint_.get(), &queue_->fid, FI_TRANSMIT | FI_RECV));
        check("fi_enable", fi_enable(endpoint_.get()));
        meet();
    }
    ~Fabric() override
    {
        // Nobody leaves while the other may still need its answers.
        socket_.send_value(char{0});
        (void)socket_.recv_value<char>();
    }
    Fabric(const Fabric&) = delete;
    Fabric& operator=(const Fabric&) = delete;

    void expose(std::span<std::byte> buffer) override
    {
        fid_mr* region = nullptr;
        check("fi_mr_reg", fi_mr_reg(domain_.get(), buffer.data(), buffer.size(), FI_READ | FI_WRITE | FI_SEND | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                                     1, 0, &region, nullptr));
        region_.reset(region);
        exposed_ = buffer;
        const bool by_address = (info_->domain_attr->mr_mode & (FI_MR_VIRT_ADDR | FI_MR_BASIC)) != 0;
        socket_.send_value(Window{fi_mr_key(region), by_address ? reinterpret_cast<std::uint64_t>(buffer.data()) : 0});
        theirs_ = socket_.recv_value<Window>();
    }

    void send_all(std::span<const std::byte> bytes) override
    {
        if (bytes.size() <= info_->tx_attr->inject_size) {
            post("fi_tinject", [&] { return fi_tinject(endpoint_.get(), bytes.data(), bytes.size(), peer_, kTag); });
            return;
        }
        post("fi_tsend", [&] { return fi_tsend(endpoint_.get(), bytes.data(), bytes.size(), descriptor(bytes), peer_, kTag, &contexts_[0]); });
        complete(sent_, 1);
    }

    void recv_all(std::span<std::byte> bytes) override
    {
        post("fi_trecv", [&] { return fi_trecv(endpoint_.get(), bytes.data(), bytes.size(), descriptor(bytes), peer_, kTag, 0, &contexts_[1]); });
        complete(received_, 1);
        if (length_ != bytes.size())
            raw::fail("a message of " + std::to_string(length_) + " bytes, expected " + std::to_string(bytes.size()));
    }

    void write_all(std::span<const std::byte> bytes, std::size_t count) override
    {
        for (std::size_t i = 0; i < count; ++i)
            write_one(bytes, i);
        complete(written_, count);
    }

private:
    static constexpr std::uint64_t kTag = 7;
    struct FreeInfo {
        void operator()(fi_info* info) const { fi_freeinfo(info); }
    };
    struct Window {
        std::uint64_t key;
        std::uint64_t base;
    };
    struct Name {
        std::array<char, 256> bytes{};
        std::size_t size = 256;
    };

    void write_one(std::span<const std::byte> bytes, std::size_t i)
    {
        const iovec from{const_cast<std::byte*>(bytes.data()), bytes.size()};
        const fi_rma_iov to{theirs_.base + i * bytes.size(), bytes.size(), theirs_.key};
        void* local = descriptor(bytes);
        fi_msg_rma message{};
        message.msg_iov = &from;
        message.desc = &local;
        message.iov_count = 1;
        message.addr = peer_;
        message.rma_iov = &to;
        message.rma_iov_count = 1;
        message.context = &contexts_[i % contexts_.size()];
        post("fi_writemsg", [&] { return fi_writemsg(endpoint_.get(), &message, FI_DELIVERY_COMPLETE | FI_COMPLETION); });
    }

    void find(const std::string& provider)
    {
        const std::unique_ptr<fi_info, FreeInfo> hints(fi_allocinfo());
        hints->caps = FI_TAGGED | FI_RMA;
        hints->mode = FI_CONTEXT | FI_CONTEXT2;
        hints->ep_attr->type = FI_EP_RDM;
        hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
        hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
        hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
        hints->fabric_attr->prov_name = strdup(provider.c_str());
        fi_info* found = nullptr;
        check("fi_getinfo", fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found));
        info_.reset(found);
        info_->tx_attr->op_flags = 0;   // for messages as the provider thinks right; writes say it
    }

    void meet()
    {
        Name mine;
        check("fi_getname", fi_getname(&endpoint_->fid, mine.bytes.data(), &mine.size));
        socket_.send_value(mine);
        const Name other = socket_.recv_value<Name>();
        if (fi_av_insert(addresses_.get(), other.bytes.data(), 1, &peer_, 0, nullptr) != 1)
            raw::fail("fi_av_insert took no address");
    }

    void* descriptor(std::span<const std::byte> bytes)
    {
        if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) == 0)
            return nullptr;
        if (bytes.data() < exposed_.data() || bytes.data() + bytes.size() > exposed_.data() + exposed_.size())
            raw::fail("this provider wants every buffer registered");
        return fi_mr_desc(region_.get());
    }

    template <class Post>
    void post(const char* what, Post call)
    {
        ssize_t status = 0;
        while ((status = call()) == -FI_EAGAIN)
            poll();
        check(what, status);
    }

    void complete(std::uint64_t& done, std::uint64_t count)
    {
        while (done < count)
            poll();
        done -= count;
    }

    void poll()
    {
        std::array<fi_cq_tagged_entry, 16> entries;
        const ssize_t count = fi_cq_read(queue_.get(), entries.data(), entries.size());
        if (count == -FI_EAGAIN)
            return;
        if (count == -FI_EAVAIL) {
            fi_cq_err_entry error{};
            fi_cq_readerr(queue_.get(), &error, 0);
            check("an operation failed", -error.err);
        }
        check("fi_cq_read", count);
        for (ssize_t i = 0; i < count; ++i) {
            const fi_cq_tagged_entry& entry = entries[static_cast<std::size_t>(i)];
            if ((entry.flags & FI_RECV) != 0) {
                length_ = entry.len;
                ++received_;
            } else {
                ++((entry.flags & FI_RMA) != 0 || (entry.flags & FI_WRITE) != 0 ? written_ : sent_);
            }
        }
    }

    raw::Socket socket_;   // for what the two must know of each other
    std::unique_ptr<fi_info, FreeInfo> info_;
    Owned<fid_fabric> fabric_;
    Owned<fid_domain> domain_;
    Owned<fid_av> addresses_;
    Owned<fid_cq> queue_;
    Owned<fid_mr> region_;
    Owned<fid_ep> endpoint_;
    fi_addr_t peer_ = FI_ADDR_UNSPEC;
    std::span<std::byte> exposed_;
    Window theirs_{};
    std::array<fi_context2, 64> contexts_{};
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t written_ = 0;
    std::size_t length_ = 0;   // of the last message
};

}   // namespace

int main(int argc, char** argv)
{
    return raw::run("raw_fabric", argc, argv, [](const raw::Options& options, bool leads) -> std::unique_ptr<raw::Connection> {
        return std::make_unique<Fabric>(options, leads);
    });
}
