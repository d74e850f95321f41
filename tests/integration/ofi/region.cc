// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Memory that the other side may reach.
#include "integration/ofi/region.h"

#include <cstring>

namespace linnet::ofi_test {

Where::Where(const std::string& told) : base{0}, key{0}
{
    EXPECT_EQ(told.size(), sizeof base + sizeof key);
    std::memcpy(&base, told.data(), sizeof base);
    std::memcpy(&key, told.data() + sizeof base, sizeof key);
}

Region::Region(const Node& node, std::size_t bytes, std::uint64_t access) : memory(bytes)
{
    EXPECT_EQ(fi_mr_reg(node.domain, memory.data(), bytes, access, 0, 0xfeed, 0, &mr, nullptr), 0);
    const int mode = node.info->domain_attr->mr_mode;
    base_ = mode == FI_MR_BASIC || (mode & FI_MR_VIRT_ADDR) != 0 ? reinterpret_cast<std::uintptr_t>(memory.data()) : 0;
}

std::string Region::where() const
{
    const std::uint64_t key = fi_mr_key(mr);
    std::string told(sizeof base_ + sizeof key, '\0');
    std::memcpy(told.data(), &base_, sizeof base_);
    std::memcpy(told.data() + sizeof base_, &key, sizeof key);
    return told;
}

namespace {
// Byte by byte, or the compiler makes it a call of memcpy(), which ThreadSanitizer does look at.
__attribute__((no_sanitize("thread"))) void copy_unseen(volatile char* to, const volatile char* from, std::size_t bytes)
{
    for (std::size_t i = 0; i < bytes; ++i) {
        to[i] = from[i];
    }
}
}   // namespace

std::vector<char> as_left_by_the_other_side(std::span<const char> memory)
{
    std::vector<char> copy(memory.size());
    copy_unseen(copy.data(), memory.data(), copy.size());
    return copy;
}

void leave_to_the_other_side(std::vector<char>& memory, const std::vector<char>& content) { copy_unseen(memory.data(), content.data(), content.size()); }

void Region::close()
{
    if (mr != nullptr) {
        EXPECT_EQ(fi_close(&mr->fid), 0);
    }
    mr = nullptr;
}

}   // namespace linnet::ofi_test
