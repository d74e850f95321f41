// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Seeds of the session target: what peers, nets and hosts do that means something. See session_target.cc.
#include <initializer_list>

#include "fuzz/fuzz_target.h"

namespace linnet::fuzz {

// Steps as run_session() reads them.
std::vector<Input> session_seeds()
{
    const Input up{0, 1, 1, 1, 2, 1, 17};                               // both links by the peer's calls, and it is added
    const auto with = [&](std::initializer_list<Input> parts) {
        Input all = up;
        for (const Input& p : parts) {
            all.insert(all.end(), p.begin(), p.end());
        }
        return all;
    };
    const Input eager{6, 0x0c, 2, 0, 1, 1, 0, 4, 'a', 'b', 'c', 'd'};     // how, kind, flags, space, tag, slot, bytes
    const Input eager_sync{6, 0x0c, 2, 2, 1, 1, 9, 4, 'a', 'b', 'c', 'd'};
    const Input rts{6, 0x0c, 3, 0, 1, 1, 5, 200, 0};                      // 140 000 bytes announced
    const Input recv{19, 8 | 16, 250};
    const Input recv_strided{19, 8 | 16 | 3, 250};
    const Input bulk{10, 0, 11, 255};
    const Input large_send{18, 0, 250};
    const Input sync_send{18, 4, 10};
    const Input grant{6, 0x0c, 4, 0, 0, 0xff, 0x7f, 0};
    const Input fin{6, 0x0c, 5, 0, 0, 0};
    // As no correct peer does: the end of a message before its acknowledgement, and then a grant for it.
    const Input fin_unacked{6, 0x04, 5, 0, 0, 0};
    const Input grant_unacked{6, 0x04, 4, 0, 0, 0xff, 0x7f, 0};
    const Input ack{6, 0x0e, 1, 0, 0};
    const Input matched{6, 0x0c, 6, 0, 0, 0};
    const Input cancel{6, 0x0c, 7, 0, 128, 9, 0, 0, 0, 0};
    const Input active{6, 0x0c, 9, 0, 1, 0, 8, 40};
    const Input broken{15, 0};
    const Input again{0, 2, 1};
    const Input region{23, 224, 1};
    const Input unasked{6, 0x0c, 11, 16, 0, 0, 100, 0};                   // a write of 70 000 bytes into it
    const Input its_bulk{10, 200, 1, 11, 255};
    const Input bulk_first{10, 200, 0, 11, 255};                          // before it was announced
    const Input bulk_broken{15, 1};
    const Input bulk_again{1, 2, 1};
    const Input our_write{23, 176, 0, 250};
    const Input we_call{17, 18, 0, 20, 3, 0, 1, 13};
    return {
        with({recv, eager}), with({eager, recv}), with({eager_sync, recv, cancel}), with({eager_sync, cancel}), with({recv, rts, bulk}),
        with({rts, recv_strided, bulk, bulk}), with({large_send, grant, fin}), with({{12, 1}, large_send, grant, {14}, fin}), with({sync_send, matched}),
        with({active, active}), with({recv, rts, bulk, broken, again, recv, eager}), with({{6 + 24 * 6, 0x0c, 2, 0, 1, 1, 0, 210, 3, 1, 2, 3}, {9, 200}, recv}),
        with({large_send, fin_unacked, {12, 1}, grant_unacked, ack, {14}}), with({{23, 165}, eager}), we_call,
        with({region, unasked, its_bulk}), with({region, bulk_first, unasked, {11, 255}}), with({region, bulk_first, region, unasked, {11, 255}}),
        with({region, bulk_first, bulk_broken, bulk_again, unasked, its_bulk}),
        with({region, unasked, {10, 200, 1, 11, 100}, bulk_broken, bulk_again, its_bulk}),
        with({our_write, {14}, fin}), with({{12, 1}, our_write, bulk_broken, bulk_again, {12, 0, 14}, ack, fin}),
        with({{12, 2}, our_write, our_write, {12, 1, 13, 14}, fin}),
        with({{21, 128 + 8 + 4 + 1}, eager, {21, 128 + 8 + 4 + 1}, {23, 70}}), with({{22, 80}, {22, 250}, {16, 200}}),
    };
}

}   // namespace linnet::fuzz
