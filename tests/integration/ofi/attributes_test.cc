// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_getinfo(3): each attribute that cannot be had makes the answer -FI_ENODATA, and a line of the log names it.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "integration/ofi/node.h"

namespace linnet::ofi_test {
namespace {

// What this process writes to standard error from here on; libfabric's log, as loud as tells of hints.
class Log {
public:
    Log() : real_{::dup(STDERR_FILENO)}, file_{::memfd_create("log", MFD_CLOEXEC)}
    {
        ::setenv("FI_LOG_LEVEL", "info", 1);   // read when libfabric is used first, in this process after this
        ::setenv("FI_LOG_PROV", provider_name().c_str(), 1);
        ::dup2(file_, STDERR_FILENO);
    }
    ~Log()
    {
        ::dup2(real_, STDERR_FILENO);
        ::close(real_);
        ::close(file_);
    }
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;
    // Since it was asked last.
    std::string lines()
    {
        std::string text(65536, '\0');
        const ssize_t n = ::pread(file_, text.data(), text.size(), read_);
        text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
        read_ += n > 0 ? n : 0;
        return text;
    }

private:
    int real_;
    int file_;
    off_t read_{0};
};

struct Impossible {
    const char* attribute;   // as the log names it
    void (*ask)(fi_info& hints);
};

constexpr std::uint64_t kNoFlag = std::uint64_t{1} << 59;

const Impossible kImpossible[] = {
    {"caps", [](fi_info& h) { h.caps |= FI_VARIABLE_MSG; }},
    {"addr_format", [](fi_info& h) { h.addr_format = FI_ADDR_EFA; }},
    {"src_addr",
     [](fi_info& h) {
         sockaddr_in6 other{};   // not of the format
         other.sin6_family = AF_INET6;
         h.addr_format = FI_SOCKADDR_IN;
         h.src_addr = ::memcpy(::calloc(1, sizeof other), &other, sizeof other);
         h.src_addrlen = sizeof other;
     }},
    {"tx_attr->caps", [](fi_info& h) { h.tx_attr->caps = FI_RMA; }},   // more than was asked for
    {"tx_attr->op_flags", [](fi_info& h) { h.tx_attr->op_flags = FI_COMMIT_COMPLETE; }},
    {"tx_attr->msg_order", [](fi_info& h) { h.tx_attr->msg_order = FI_ORDER_WAS; }},
    {"tx_attr->comp_order", [](fi_info& h) { h.tx_attr->comp_order = FI_ORDER_STRICT; }},
    {"tx_attr->inject_size", [](fi_info& h) { h.tx_attr->inject_size = 1u << 20; }},
    {"tx_attr->size", [](fi_info& h) { h.tx_attr->size = 1u << 30; }},
    {"tx_attr->iov_limit", [](fi_info& h) { h.tx_attr->iov_limit = 9; }},
    {"tx_attr->rma_iov_limit", [](fi_info& h) { h.tx_attr->rma_iov_limit = 2; }},
    {"rx_attr->caps", [](fi_info& h) { h.rx_attr->caps = FI_RMA; }},
    {"rx_attr->op_flags", [](fi_info& h) { h.rx_attr->op_flags = FI_INJECT; }},
    {"rx_attr->msg_order", [](fi_info& h) { h.rx_attr->msg_order = FI_ORDER_SAW; }},
    {"rx_attr->comp_order", [](fi_info& h) { h.rx_attr->comp_order = FI_ORDER_DATA; }},
    {"rx_attr->size", [](fi_info& h) { h.rx_attr->size = 1u << 30; }},
    {"rx_attr->iov_limit", [](fi_info& h) { h.rx_attr->iov_limit = 9; }},
    {"ep_attr->type", [](fi_info& h) { h.ep_attr->type = FI_EP_MSG; }},
    {"ep_attr->protocol", [](fi_info& h) { h.ep_attr->protocol = FI_PROTO_RXM; }},
    {"ep_attr->protocol_version", [](fi_info& h) { h.ep_attr->protocol_version = 99; }},
    {"ep_attr->max_msg_size", [](fi_info& h) { h.ep_attr->max_msg_size = SIZE_MAX; }},
    {"ep_attr->msg_prefix_size", [](fi_info& h) { h.ep_attr->msg_prefix_size = 64; }},
    {"ep_attr->max_order_raw_size", [](fi_info& h) { h.ep_attr->max_order_raw_size = 1u << 20; }},
    {"ep_attr->max_order_war_size", [](fi_info& h) { h.ep_attr->max_order_war_size = 1u << 20; }},
    {"ep_attr->max_order_waw_size", [](fi_info& h) { h.ep_attr->max_order_waw_size = 1u << 20; }},
    {"ep_attr->tx_ctx_cnt", [](fi_info& h) { h.ep_attr->tx_ctx_cnt = 2; }},
    {"ep_attr->rx_ctx_cnt", [](fi_info& h) { h.ep_attr->rx_ctx_cnt = 2; }},
    {"ep_attr->auth_key_size", [](fi_info& h) { h.ep_attr->auth_key_size = 8; }},
    {"domain_attr->domain", [](fi_info& h) { h.domain_attr->domain = reinterpret_cast<fid_domain*>(&h); }},
    {"domain_attr->name", [](fi_info& h) { h.domain_attr->name = ::strdup("eth7"); }},
    {"domain_attr->threading", [](fi_info& h) { h.domain_attr->threading = static_cast<fi_threading>(7); }},
    {"domain_attr->control_progress", [](fi_info& h) { h.domain_attr->control_progress = static_cast<fi_progress>(3); }},
    {"domain_attr->data_progress", [](fi_info& h) { h.domain_attr->data_progress = static_cast<fi_progress>(3); }},
    {"domain_attr->data_progress",
     [](fi_info& h) {
         h.domain_attr->data_progress = FI_PROGRESS_AUTO;
         h.ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
     }},
    {"domain_attr->resource_mgmt", [](fi_info& h) { h.domain_attr->resource_mgmt = static_cast<fi_resource_mgmt>(3); }},
    {"domain_attr->av_type", [](fi_info& h) { h.domain_attr->av_type = static_cast<fi_av_type>(3); }},
    {"domain_attr->mr_key_size", [](fi_info& h) { h.domain_attr->mr_key_size = 9; }},
    {"domain_attr->cq_data_size", [](fi_info& h) { h.domain_attr->cq_data_size = 9; }},
    {"domain_attr->cq_cnt", [](fi_info& h) { h.domain_attr->cq_cnt = 1u << 30; }},
    {"domain_attr->ep_cnt", [](fi_info& h) { h.domain_attr->ep_cnt = 1u << 30; }},
    {"domain_attr->tx_ctx_cnt", [](fi_info& h) { h.domain_attr->tx_ctx_cnt = 1u << 30; }},
    {"domain_attr->rx_ctx_cnt", [](fi_info& h) { h.domain_attr->rx_ctx_cnt = 1u << 30; }},
    {"domain_attr->max_ep_tx_ctx", [](fi_info& h) { h.domain_attr->max_ep_tx_ctx = 2; }},
    {"domain_attr->max_ep_rx_ctx", [](fi_info& h) { h.domain_attr->max_ep_rx_ctx = 2; }},
    {"domain_attr->max_ep_stx_ctx", [](fi_info& h) { h.domain_attr->max_ep_stx_ctx = 1u << 30; }},
    {"domain_attr->max_ep_srx_ctx", [](fi_info& h) { h.domain_attr->max_ep_srx_ctx = 1u << 30; }},
    {"domain_attr->cntr_cnt", [](fi_info& h) { h.domain_attr->cntr_cnt = 1u << 30; }},
    {"domain_attr->mr_iov_limit", [](fi_info& h) { h.domain_attr->mr_iov_limit = 2; }},
    {"domain_attr->mr_mode", [](fi_info& h) { h.domain_attr->mr_mode = FI_MR_BASIC | FI_MR_LOCAL; }},
    {"domain_attr->mr_mode", [](fi_info& h) { h.domain_attr->mr_mode = FI_MR_SCALABLE | FI_MR_PROV_KEY; }},
    {"domain_attr->mr_mode", [](fi_info& h) { h.domain_attr->mr_mode = FI_MR_BASIC | FI_MR_SCALABLE; }},
    {"domain_attr->caps", [](fi_info& h) { h.domain_attr->caps = FI_AV_USER_ID; }},
    {"domain_attr->auth_key_size", [](fi_info& h) { h.domain_attr->auth_key_size = 8; }},
    {"domain_attr->max_err_data", [](fi_info& h) { h.domain_attr->max_err_data = 8; }},
    {"domain_attr->mr_cnt", [](fi_info& h) { h.domain_attr->mr_cnt = 1u << 30; }},
    {"fabric_attr->fabric", [](fi_info& h) { h.fabric_attr->fabric = reinterpret_cast<fid_fabric*>(&h); }},
    {"fabric_attr->name", [](fi_info& h) { h.fabric_attr->name = ::strdup("other"); }},
    {"fabric_attr->prov_version", [](fi_info& h) { h.fabric_attr->prov_version = UINT32_MAX; }},
};

int answer(fi_info& hints)
{
    fi_info* info = nullptr;
    const int r = fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, &hints, &info);
    if (info != nullptr) {
        fi_freeinfo(info);
    }
    return r;
}

TEST(LinnetInfo, AttributesThatCannotBeHadAreNamedInTheLog)
{
    two_processes(
        [](Friend&) {
            Log log;
            fi_info* const possible = make_hints({});
            EXPECT_EQ(answer(*possible), 0);
            fi_freeinfo(possible);
            log.lines();
            for (const Impossible& i : kImpossible) {
                fi_info* const hints = make_hints({});
                i.ask(*hints);
                EXPECT_EQ(answer(*hints), -FI_ENODATA) << i.attribute;
                hints->domain_attr->domain = nullptr;   // not fi_freeinfo()'s
                hints->fabric_attr->fabric = nullptr;
                fi_freeinfo(hints);
                const std::string said = log.lines();
                EXPECT_NE(said.find(std::string{"hints: "} + i.attribute), std::string::npos) << i.attribute << ": " << said;
            }
        },
        [](Friend&) {});
}

// Who changes the answer gets what it asks for, or is told.
TEST(LinnetInfo, AnswerThatWasMadeImpossibleOpensNothing)
{
    two_processes(
        [](Friend&) {
            Log log;
            Node n;
            const auto opens = [&](const std::function<void(fi_info&)>& change) {
                fi_info* const info = fi_dupinfo(n.info);
                change(*info);
                fid_domain* domain = nullptr;
                fid_ep* ep = nullptr;
                const int r = fi_domain(n.fabric, info, &domain, nullptr);
                const int s = r == 0 ? fi_endpoint(domain, info, &ep, nullptr) : r;
                for (struct fid* f : {ep != nullptr ? &ep->fid : nullptr, domain != nullptr ? &domain->fid : nullptr}) {
                    EXPECT_EQ(f != nullptr ? fi_close(f) : 0, 0);
                }
                fi_freeinfo(info);
                return s;
            };
            EXPECT_EQ(opens([](fi_info&) {}), 0);
            EXPECT_EQ(opens([](fi_info& i) { i.domain_attr->mr_mode = FI_MR_PROV_KEY | FI_MR_VIRT_ADDR; }), 0);
            const std::pair<const char*, void (*)(fi_info&)> impossible[] = {
                {"caps", [](fi_info& i) { i.caps |= FI_COLLECTIVE; }},
                {"tx_attr->inject_size", [](fi_info& i) { i.tx_attr->inject_size *= 2; }},
                {"tx_attr->iov_limit", [](fi_info& i) { i.tx_attr->iov_limit = 9; }},
                {"tx_attr->op_flags", [](fi_info& i) { i.tx_attr->op_flags = FI_MULTICAST; }},
                {"rx_attr->msg_order", [](fi_info& i) { i.rx_attr->msg_order |= FI_ORDER_RAS; }},
                {"ep_attr->type", [](fi_info& i) { i.ep_attr->type = FI_EP_DGRAM; }},
                {"ep_attr->type", [](fi_info& i) { put_number(i.ep_attr->type, -1); }},
                {"domain_attr->threading", [](fi_info& i) { put_number(i.domain_attr->threading, -1); }},
                {"domain_attr->control_progress", [](fi_info& i) { put_number(i.domain_attr->control_progress, -1); }},
                {"domain_attr->data_progress", [](fi_info& i) { put_number(i.domain_attr->data_progress, -1); }},
                {"domain_attr->resource_mgmt", [](fi_info& i) { put_number(i.domain_attr->resource_mgmt, -1); }},
                {"domain_attr->av_type", [](fi_info& i) { put_number(i.domain_attr->av_type, -1); }},
                {"ep_attr->max_msg_size", [](fi_info& i) { i.ep_attr->max_msg_size = SIZE_MAX; }},
                {"ep_attr->auth_key_size", [](fi_info& i) { i.ep_attr->auth_key_size = 8; }},
                {"domain_attr->mr_key_size", [](fi_info& i) { i.domain_attr->mr_key_size = 16; }},
                {"addr_format", [](fi_info& i) { i.addr_format = FI_SOCKADDR_IB; }},
            };
            for (const auto& [attribute, change] : impossible) {
                log.lines();
                EXPECT_EQ(opens(change), -FI_EINVAL) << attribute;
                const std::string said = log.lines();
                EXPECT_NE(said.find(std::string{"hints: "} + attribute), std::string::npos) << attribute << ": " << said;
            }
        },
        [](Friend&) {});
}

// What is only told, or a wish, is no reason to refuse.
TEST(LinnetInfo, AttributesThatAskForNothingAreTaken)
{
    two_processes(
        [](Friend&) {
            const std::function<void(fi_info&)> harmless[] = {
                [](fi_info& h) { h.mode = ~std::uint64_t{0}; },
                [](fi_info& h) { h.tx_attr->mode = kNoFlag; },
                [](fi_info& h) { h.tx_attr->tclass = FI_TC_LOW_LATENCY; },
                [](fi_info& h) { h.rx_attr->total_buffered_recv = 1u << 30; },
                [](fi_info& h) { h.rx_attr->op_flags = FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE; },
                [](fi_info& h) { h.domain_attr->mode = FI_RESTRICTED_COMP; },
                [](fi_info& h) { h.domain_attr->mr_mode = ~0 & ~(FI_MR_BASIC | FI_MR_SCALABLE); },
                [](fi_info& h) { h.domain_attr->tclass = FI_TC_BULK_DATA; },
                [](fi_info& h) { h.fabric_attr->api_version = FI_VERSION(1, 2); },
            };
            for (const auto& ask : harmless) {
                fi_info* const hints = make_hints({});
                ask(*hints);
                EXPECT_EQ(answer(*hints), 0) << &ask - harmless;
                fi_freeinfo(hints);
            }
        },
        [](Friend&) {});
}

// libfabric asks whom prov_name means, in any case of its letters; "^name" at the end of it means all others.
TEST(LinnetInfo, ProviderIsNamedAsLibfabricAllows)
{
    two_processes(
        [](Friend&) {
            for (const char* const name : {"linnet", "LINNET", "^sockets", "linnet;^ofi_rxm"}) {
                fi_info* const hints = make_hints({});
                std::free(hints->fabric_attr->prov_name);
                hints->fabric_attr->prov_name = ::strdup(name);
                fi_info* info = nullptr;
                EXPECT_EQ(fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info), 0) << name;
                EXPECT_TRUE(info != nullptr && std::strcmp(info->fabric_attr->prov_name, "linnet") == 0) << name;
                fi_freeinfo(info);
                fi_freeinfo(hints);
            }
        },
        [](Friend&) {});
}

// A limit that programs try to its end; who needs more says so.
TEST(LinnetInfo, FourPiecesAreOfferedAndEightOnRequest)
{
    two_processes(
        [](Friend&) {
            const auto pieces = [](std::size_t out, std::size_t in) {
                fi_info* const hints = make_hints({});
                hints->tx_attr->iov_limit = out;
                hints->rx_attr->iov_limit = in;
                fi_info* info = nullptr;
                EXPECT_EQ(fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info), 0);
                fi_freeinfo(hints);
                const std::pair<std::size_t, std::size_t> told{info->tx_attr->iov_limit, info->rx_attr->iov_limit};
                fi_freeinfo(info);
                return told;
            };
            EXPECT_EQ(pieces(0, 0), (std::pair<std::size_t, std::size_t>{4, 4}));
            EXPECT_EQ(pieces(1, 2), (std::pair<std::size_t, std::size_t>{4, 4}));
            EXPECT_EQ(pieces(8, 0), (std::pair<std::size_t, std::size_t>{8, 4}));
            EXPECT_EQ(pieces(5, 8), (std::pair<std::size_t, std::size_t>{5, 8}));
            Node n;   // an answer that is changed within what there is opens all the same
            fi_info* const info = fi_dupinfo(n.info);
            info->tx_attr->iov_limit = 8;
            fid_ep* ep = nullptr;
            EXPECT_EQ(fi_endpoint(n.domain, info, &ep, nullptr), 0);
            EXPECT_EQ(fi_close(&ep->fid), 0);
            fi_freeinfo(info);
        },
        [](Friend&) {});
}

// fi_domain(3), fi_fabric(3): what is open restricts the answer to itself; else the answer refers to the first that is open.
TEST(LinnetInfo, AnswerRefersToTheFabricAndTheDomainThatWereGiven)
{
    two_processes(
        [](Friend&) {
            const auto ask = [](fid_fabric* fabric, fid_domain* domain, fid_fabric* wanted_fabric, fid_domain* wanted_domain) {
                fi_info* const hints = make_hints({});
                hints->fabric_attr->fabric = fabric;
                hints->domain_attr->domain = domain;
                fi_info* info = nullptr;
                const int r = fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info);
                hints->fabric_attr->fabric = nullptr;
                hints->domain_attr->domain = nullptr;
                fi_freeinfo(hints);
                if (r == 0) {
                    EXPECT_EQ(info->fabric_attr->fabric, wanted_fabric);
                    EXPECT_EQ(info->domain_attr->domain, wanted_domain);
                    fi_freeinfo(info);
                }
                return r;
            };
            EXPECT_EQ(ask(nullptr, nullptr, nullptr, nullptr), 0);
            Node one;
            Node two;
            EXPECT_EQ(ask(nullptr, nullptr, one.fabric, one.domain), 0);
            EXPECT_EQ(ask(nullptr, one.domain, one.fabric, one.domain), 0);
            EXPECT_EQ(ask(nullptr, two.domain, two.fabric, two.domain), 0);
            EXPECT_EQ(ask(two.fabric, nullptr, two.fabric, two.domain), 0);
            EXPECT_EQ(ask(two.fabric, two.domain, two.fabric, two.domain), 0);
            EXPECT_EQ(ask(one.fabric, two.domain, nullptr, nullptr), -FI_ENODATA);
            fid_fabric* gone_fabric = nullptr;
            fid_domain* gone_domain = nullptr;
            {
                Node gone;
                gone_fabric = gone.fabric;
                gone_domain = gone.domain;
            }
            EXPECT_EQ(ask(gone_fabric, gone_domain, one.fabric, one.domain), 0) << "an answer of before, whose domain another library has closed";
        },
        [](Friend&) {});
}

TEST(LinnetInfo, FormatOfTagsIsAnyThatIsAskedFor)
{
    two_processes(
        [](Friend&) {
            fi_info* const hints = make_hints({});
            fi_info* info = nullptr;
            ASSERT_EQ(fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info), 0);
            EXPECT_EQ(info->ep_attr->mem_tag_format, 0xaaaaaaaaaaaaaaaau);
            fi_freeinfo(info);
            hints->ep_attr->mem_tag_format = 0x30ff;
            ASSERT_EQ(fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info), 0);
            EXPECT_EQ(info->ep_attr->mem_tag_format, 0x30ffu);
            fi_freeinfo(info);
            EXPECT_NE(fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, FI_SOURCE, hints, &info), 0) << "a source that is not named";
            fi_freeinfo(hints);
        },
        [](Friend&) {});
}

}   // namespace
}   // namespace linnet::ofi_test
