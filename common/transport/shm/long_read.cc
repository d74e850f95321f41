// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ShmTransport: reading long messages out of their senders' memory while other things go on.
#include "transport/shm/long_read.h"

#include <algorithm>
#include <new>
#include <utility>

#include "transport/shm/shm_transport.h"

namespace linnet::shm {

LongRead* ShmTransport::free_read() noexcept
{
    for (std::unique_ptr<LongRead>& read : reads_) {
        if (read == nullptr) {
            read.reset(new (std::nothrow) LongRead);
        }
        if (read != nullptr && read->link == LinkId{}) {
            return read.get();
        }
    }
    return nullptr;
}

Status ShmTransport::begin_read(LinkId id, std::byte* to, std::uint64_t address, std::size_t bytes, void* cookie) noexcept
{
    RoleScope token{token_};
    Link* const link = links_.find(id);
    if (link == nullptr || !link->up() || !link->we_pull || bytes < LongRead::kLeast || bytes > LongRead::kMost) {
        return Status::kUnsupported;
    }
    LongRead* const read = free_read();
    if (read == nullptr) {
        return Status::kAgain;
    }
    read->link = id;
    read->peer = link->peer;
    read->to = to;
    read->address = address;
    read->bytes = bytes;
    read->submitted = 0;
    read->cookie = cookie;
    read->job.reset(bytes);
    ++reading_;
    return Status::kInProgress;
}

unsigned ShmTransport::go_on_reading() noexcept
{
    unsigned done = 0;
    for (std::unique_ptr<LongRead>& slot : reads_) {
        LongRead* const read = slot.get();
        if (read == nullptr || read->link == LinkId{}) {
            continue;
        }
        ++done;
        moved_ += LongRead::kPerPass;
        Link& link = *links_.find(read->link);   // which does not end without it
        if (go_on(*read, link)) {
            end_read(*read, was_read(link, read->job.status(), read->to, read->address, read->bytes));
        }
    }
    return done;
}

// A pass's part. True: all of it is over.
bool ShmTransport::go_on(LongRead& read, Link& link) noexcept
{
    for (std::size_t here = 0; here < LongRead::kPerPass;) {
        if (read.submitted < read.bytes && read.job.unfinished() < LongRead::kAhead) {
            const std::size_t bytes = std::min(LongRead::kPiece, read.bytes - read.submitted);
            CopyPiece& piece = read.pieces[read.submitted / LongRead::kPiece];
            const auto before = read.job.unfinished();
            copy_.submit(read.job, piece, read.to + read.submitted, CopySource::of(link.process, read.address + read.submitted), bytes);
            read.submitted += bytes;
            here += read.job.unfinished() <= before ? bytes : 0;   // copied at once
        } else if (read.submitted == read.bytes && read.job.unfinished() <= LongRead::kPerPass / kCopySlice) {
            static_cast<void>(copy_.wait(read.job));
            return true;
        } else {
            static_cast<void>(copy_.poll(read.job));
            here += kCopySlice;
        }
    }
    return false;
}

void ShmTransport::end_read(LongRead& read, Status status) noexcept
{
    read.link = LinkId{};
    --reading_;
    sink_->on_read_end(read.peer, read.cookie, status);
}

void ShmTransport::stop_reads(LinkId link) noexcept
{
    for (const std::unique_ptr<LongRead>& read : reads_) {
        if (reading_ != 0 && read != nullptr && read->link == link) {
            static_cast<void>(copy_.wait(read->job));
        }
    }
}

void ShmTransport::fail_reads(LinkId link) noexcept
{
    for (const std::unique_ptr<LongRead>& read : reads_) {
        if (reading_ != 0 && read != nullptr && read->link == link) {
            end_read(*read, Status::kPeerDown);
        }
    }
}

}   // namespace linnet::shm
