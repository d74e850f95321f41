// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ReadyRef: a borrowed question, "is it so by now?".
#pragma once

namespace linnet {

// Two words, no allocation. Borrows what it asks about: that must outlive it. The question is asked by any thread that might have to
// wake or be woken, also under a spin lock: it must be a few loads, no lock, no system call. The default asks nothing and says no.
class ReadyRef {
public:
    using Ask = bool (*)(const void* about) noexcept;

    constexpr ReadyRef() noexcept = default;
    constexpr ReadyRef(Ask ask, const void* about) noexcept : ask_{ask}, about_{about} {}
    // From an object with `bool operator()() const noexcept`, a lambda that lives in the caller's frame for example.
    template <class Callable>
    [[nodiscard]] static constexpr ReadyRef to(const Callable& callable) noexcept
    {
        static_assert(noexcept(callable()));
        return {[](const void* about) noexcept -> bool { return (*static_cast<const Callable*>(about))(); }, &callable};
    }
    [[nodiscard]] bool operator()() const noexcept { return ask_ != nullptr && ask_(about_); }

private:
    Ask ask_{nullptr};
    const void* about_{nullptr};
};

}   // namespace linnet
