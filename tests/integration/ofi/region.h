// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Memory that the other side may reach, and how it is told where.
#pragma once

#include <rdma/fi_rma.h>

#include <span>
#include <string>
#include <vector>

#include "integration/ofi/node.h"

namespace linnet::ofi_test {

// Of the other side's memory, as its Region told.
struct Where {
    explicit Where(const std::string& told);
    [[nodiscard]] std::uint64_t at(std::uint64_t offset) const { return base + offset; }
    std::uint64_t base;
    std::uint64_t key;
};

// A copy. That it is done the other side says by a socket, which ThreadSanitizer does not take to order anything: it is not to look.
[[nodiscard]] std::vector<char> as_left_by_the_other_side(std::span<const char> memory);

// Likewise: the other side is told to look there by a socket.
void leave_to_the_other_side(std::vector<char>& memory, const std::vector<char>& content);

class Region {
public:
    Region(const Node& node, std::size_t bytes, std::uint64_t access);
    ~Region() { close(); }
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;
    [[nodiscard]] std::string where() const;
    void close();
    [[nodiscard]] std::vector<char> content() const { return as_left_by_the_other_side(memory); }

    std::vector<char> memory;
    fid_mr* mr{nullptr};

private:
    std::uint64_t base_{0};
};

}   // namespace linnet::ofi_test
