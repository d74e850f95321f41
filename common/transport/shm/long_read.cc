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
        if (read != nullptr && read->what.link == LinkId{}) {
            return read.get();
        }
    }
    return nullptr;
}

Status ShmTransport::begin_read(LinkId id, std::byte* to, std::uint64_t address, std::size_t bytes, void* cookie, bool alone) noexcept
{
    RoleScope token{token_};
    Link* const link = links_.find(id);
    const bool in_one_go = bytes < LongRead::kLeast || (alone && !copy_.shares(bytes));   // by one call, which is quicker
    if (link == nullptr || !link->up() || !link->we_pull || in_one_go || bytes > LongRead::kMost) {
        return Status::kUnsupported;
    }
    const LongRead::What what{id, link->peer, to, address, bytes, cookie};
    if (LongRead* const read = free_read(); read != nullptr) {
        start_read(*read, what);
        return Status::kInProgress;
    }
    if (reading_ < kMostReads) {
        return Status::kAgain;   // no memory
    }
    try {
        reads_waiting_.push_back(what);
    } catch (const std::bad_alloc&) {
        return Status::kAgain;
    }
    return Status::kInProgress;
}

void ShmTransport::start_read(LongRead& read, const LongRead::What& what) noexcept
{
    read.what = what;
    read.submitted = 0;
    read.job.reset(what.bytes);
    ++reading_;
}

unsigned ShmTransport::go_on_reading() noexcept
{
    unsigned done = 0;
    for (std::unique_ptr<LongRead>& slot : reads_) {
        LongRead* const read = slot.get();
        if (read == nullptr || read->what.link == LinkId{}) {
            continue;
        }
        ++done;
        moved_ += LongRead::kPerPass;
        const LongRead::What& what = read->what;
        Link& link = *links_.find(what.link);   // which does not end without it
        if (go_on(*read, link)) {
            end_read(*read, was_read(link, read->job.status(), what.to, what.address, what.bytes));
        }
    }
    return done;
}

// A pass's part. True: all of it is over.
bool ShmTransport::go_on(LongRead& read, Link& link) noexcept
{
    const LongRead::What& what = read.what;
    for (std::size_t here = 0; here < LongRead::kPerPass;) {
        if (read.submitted < what.bytes && read.job.unfinished() < LongRead::kAhead) {
            const std::size_t bytes = std::min(LongRead::kPiece, what.bytes - read.submitted);
            CopyPiece& piece = read.pieces[read.submitted / LongRead::kPiece];
            const auto before = read.job.unfinished();
            copy_.submit(read.job, piece, what.to + read.submitted, CopySource::of(link.process, what.address + read.submitted), bytes);
            read.submitted += bytes;
            here += read.job.unfinished() <= before ? bytes : 0;   // copied at once
        } else if (read.submitted == what.bytes && read.job.unfinished() <= LongRead::kPerPass / kCopySlice) {
            static_cast<void>(copy_.wait(read.job));
            return true;
        } else {
            static_cast<void>(copy_.poll(read.job));
            here += kCopySlice;
        }
    }
    return false;
}

// The owner is told last: it may begin another one.
void ShmTransport::end_read(LongRead& read, Status status) noexcept
{
    const LongRead::What ended = read.what;
    read.what = {};
    --reading_;
    if (!reads_waiting_.empty()) {
        start_read(read, reads_waiting_.front());
        reads_waiting_.pop_front();
    }
    sink_->on_read_end(ended.peer, ended.cookie, status);
}

void ShmTransport::stop_reads(LinkId link) noexcept
{
    for (const std::unique_ptr<LongRead>& read : reads_) {
        if (reading_ != 0 && read != nullptr && read->what.link == link) {
            static_cast<void>(copy_.wait(read->job));
        }
    }
}

void ShmTransport::fail_reads(LinkId link) noexcept
{
    const auto of_link = [link](const LongRead::What& what) { return what.link == link; };
    const auto first = [&] {
        token_.assert_held();
        return std::find_if(reads_waiting_.begin(), reads_waiting_.end(), of_link);
    };
    for (auto it = first(); it != reads_waiting_.end(); it = first()) {
        const LongRead::What never_begun = *it;
        reads_waiting_.erase(it);
        sink_->on_read_end(never_begun.peer, never_begun.cookie, Status::kPeerDown);   // its owner may begin another one
    }
    for (const std::unique_ptr<LongRead>& read : reads_) {
        if (reading_ != 0 && read != nullptr && of_link(read->what)) {
            end_read(*read, Status::kPeerDown);
        }
    }
}

}   // namespace linnet::shm
