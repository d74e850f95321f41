// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The boundary: nothing thrown crosses it, and requests live in the host's storage until the host hears of their end.
#include "capi/boundary.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "unit/capi/quiet_context.h"

namespace linnet::capi {
namespace {

TEST(CBoundary, PassesTheStatusOn)
{
    EXPECT_EQ(c_boundary([] { return Status::kOk; }), LINNET_OK);
    EXPECT_EQ(c_boundary([] { return Status::kNoResource; }), LINNET_ERR_NO_RESOURCE);
}

TEST(CBoundary, WantOfMemoryIsNoMemoryAndAllElseIsOurFault)
{
    EXPECT_EQ(c_boundary([]() -> Status { throw std::bad_alloc{}; }), LINNET_ERR_NO_MEMORY);
    EXPECT_EQ(c_boundary([]() -> Status { throw std::bad_array_new_length{}; }), LINNET_ERR_NO_MEMORY);
    EXPECT_EQ(c_boundary([]() -> Status { throw std::runtime_error{"x"}; }), LINNET_ERR_INTERNAL);
    EXPECT_EQ(c_boundary([]() -> Status { throw 7; }), LINNET_ERR_INTERNAL);
}

template <class Entry>
void expect_boundary(Entry&& call)
{
    const QuietContext context;
    bool ran = false;
    EXPECT_EQ(call(nullptr, [&ran](core::Context&) { ran = true; return Status::kOk; }), LINNET_ERR_INVALID);
    EXPECT_FALSE(ran);
    EXPECT_EQ(call(context.get(), [&](core::Context& c) { ran = &c == context.get()->core.get(); return Status::kInProgress; }), LINNET_IN_PROGRESS);
    EXPECT_TRUE(ran);
    EXPECT_EQ(call(context.get(), [](core::Context&) -> Status { throw std::bad_alloc{}; }), LINNET_ERR_NO_MEMORY);
    EXPECT_EQ(call(context.get(), [](core::Context&) -> Status { throw 7; }), LINNET_ERR_INTERNAL);
    EXPECT_EQ(call(context.get(), [](core::Context&) { return Status::kOk; }), LINNET_OK) << "the context is as good as before";
}

TEST(Entry, NeedsAContextAndLetsNothingThrownOut)
{
    expect_boundary([](linnet_context_t* c, auto&& body) { return entry(c, body); });
}
TEST(PostEntry, NeedsAContextAndLetsNothingThrownOut)
{
    expect_boundary([](linnet_context_t* c, auto&& body) { return post_entry(c, 8, body); });
}
TEST(ShortPostEntry, NeedsAContextAndLetsNothingThrownOut)
{
    expect_boundary([](linnet_context_t* c, auto&& body) { return short_post_entry(c, body); });
}

TEST(Nanoseconds, BeyondTheClockAreForEver)
{
    EXPECT_EQ(to_nanos(0), Nanos{0});
    EXPECT_EQ(to_nanos(INT64_MAX), Nanos::max());
    EXPECT_EQ(to_nanos(UINT64_MAX), Nanos::max());
}

TEST(Aligned, IsStorageAtAMultipleOfItsAlignment)
{
    alignas(LINNET_REQUEST_ALIGN) unsigned char room[2 * sizeof(linnet_request_t)]{};
    EXPECT_FALSE(aligned(nullptr));
    for (std::uintptr_t shift = 0; shift <= LINNET_REQUEST_ALIGN; ++shift) {
        const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(room) + shift;
        EXPECT_EQ(aligned(reinterpret_cast<const linnet_request_t*>(at)), shift % LINNET_REQUEST_ALIGN == 0) << shift;
    }
}

proto::ResultRecord record()
{
    proto::ResultRecord r;
    r.status = Status::kTruncated;
    r.peer = PeerId{7};
    r.peer_added = true;
    r.bits = 11;
    r.immediate = 12;
    r.has_immediate = true;
    r.length = 13;
    return r;
}

TEST(ToResult, CarriesEveryField)
{
    linnet_result_t result;
    std::memset(&result, 0xee, sizeof result);
    to_result(result, record());
    EXPECT_EQ(result.status, LINNET_ERR_TRUNCATED);
    EXPECT_EQ(result.peer, 7u);
    EXPECT_EQ(result.match_bits, 11u);
    EXPECT_EQ(result.immediate, 12u);
    EXPECT_EQ(result.flags, static_cast<std::uint32_t>(LINNET_SEND_IMMEDIATE));
    EXPECT_EQ(result.length, 13u);
}

TEST(ToResult, PeerThatTheHostNeverAddedIsUnknown)
{
    proto::ResultRecord r = record();
    r.peer_added = false;
    r.has_immediate = false;
    linnet_result_t result{};
    to_result(result, r);
    EXPECT_EQ(result.peer, LINNET_PEER_UNKNOWN);
    EXPECT_EQ(result.flags, 0u);
}

// What a host gets to see of the end of its request.
struct Host {
    int done{0};
    linnet_result_t seen{};
    static void on_done(linnet_request_t* request, void* arg) noexcept
    {
        auto& host = *static_cast<Host*>(arg);
        ++host.done;
        host.seen = request->result;
        std::memset(request, 0xee, sizeof *request);   // it may be freed inside the call
    }
};

template <class R>
class RequestOf : public ::testing::Test {};
using Kinds = ::testing::Types<proto::SendRequest, proto::RecvRequest>;
TYPED_TEST_SUITE(RequestOf, Kinds);

TYPED_TEST(RequestOf, TheCoreLivesInTheHostsStorageUntilDone)
{
    linnet_request_t storage;
    std::memset(&storage, 0xee, sizeof storage);   // needs no initialisation
    Host host;
    char byte = 0;
    linnet_data_t data{};
    data.base = &byte;
    data.length = 1;
    auto& r = make_request<TypeParam>(&storage, data, Host::on_done, &host);
    EXPECT_GE(reinterpret_cast<unsigned char*>(&r), storage.opaque);
    EXPECT_LE(reinterpret_cast<unsigned char*>(&r + 1), storage.opaque + LINNET_REQUEST_OPAQUE_BYTES);
    EXPECT_EQ(storage_of(r), &storage);
    EXPECT_EQ(r.data.length, 1u);
    r.result = record();
    EXPECT_EQ(host.done, 0);
    r.done(r);
    EXPECT_EQ(host.done, 1);
    EXPECT_EQ(host.seen.status, LINNET_ERR_TRUNCATED);
    EXPECT_EQ(host.seen.length, 13u);
}

TYPED_TEST(RequestOf, OperationThatEndedInTheCallHasItsResultAndNoDone)
{
    linnet_request_t storage;
    Host host;
    auto& r = make_request<TypeParam>(&storage, linnet_data_t{}, Host::on_done, &host);
    r.result = record();
    EXPECT_EQ(settle(r, Status::kOk), Status::kOk);
    EXPECT_EQ(storage.result.status, LINNET_OK);
    EXPECT_EQ(storage.result.length, 13u);
    EXPECT_EQ(host.done, 0);
}

TYPED_TEST(RequestOf, OperationUnderWayKeepsItsStorage)
{
    linnet_request_t storage;
    storage.result.length = 99;
    Host host;
    auto& r = make_request<TypeParam>(&storage, linnet_data_t{}, Host::on_done, &host);
    r.result = record();
    EXPECT_EQ(settle(r, Status::kInProgress), Status::kInProgress);
    EXPECT_EQ(storage.result.length, 99u) << "the result is not valid yet";
    r.done(r);
    EXPECT_EQ(host.done, 1);
}

}   // namespace
}   // namespace linnet::capi
