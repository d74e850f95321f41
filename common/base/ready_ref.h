// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// AskRef: a borrowed question. ReadyRef: "is it so by now?".
#pragma once

namespace linnet {

// Two words, no allocation. Borrows what it asks about: that must outlive it. The question is asked by any thread that might have to
// wake or be woken, also under a spin lock: it must be a few loads, no lock, no system call. The default asks nothing and answers with zero or no.
template <class Answer>
class AskRef {
public:
    using Ask = Answer (*)(const void* about) noexcept;

    constexpr AskRef() noexcept = default;
    constexpr AskRef(Ask ask, const void* about) noexcept : ask_{ask}, about_{about} {}
    // From an object with `Answer operator()() const noexcept`, a lambda that lives in the caller's frame for example.
    template <class Callable>
    [[nodiscard]] static constexpr AskRef to(const Callable& callable) noexcept
    {
        static_assert(noexcept(callable()));
        return {[](const void* about) noexcept -> Answer { return (*static_cast<const Callable*>(about))(); }, &callable};
    }
    [[nodiscard]] Answer operator()() const noexcept { return ask_ != nullptr ? ask_(about_) : Answer{}; }

private:
    Ask ask_{nullptr};
    const void* about_{nullptr};
};

using ReadyRef = AskRef<bool>;

}   // namespace linnet
