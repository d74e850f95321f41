# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# From common/LAYERS to make variables: libs_x = convenience libraries of x and of all that x may use.

/^#/ || NF == 0 { next }
NF < 3 { printf "LAYERS:%d: expected: rank folder allowed\n", FNR > "/dev/stderr"; exit bad = 1 }
{
    order[++count] = $2
    rank[$2] = $1
    allowed[$2] = ""
    for (i = 3; i <= NF; i++) allowed[$2] = allowed[$2] " " $i
}

# May layer a use layer b directly?
function may_use(a, b,    names, n, i) {
    if (index(a, b "/") == 1) return 1
    n = split(allowed[a], names, " ")
    for (i = 1; i <= n; i++) {
        if (names[i] == b) return 1
        if (names[i] == "lower" && rank[b] < rank[a] && b !~ /\//) return 1
        if (names[i] == "transport/*" && index(b, "transport/") == 1) return 1
    }
    return 0
}

function add_closure(layer, set,    i) {
    if (layer in set) return
    set[layer] = 1
    for (i = 1; i <= count; i++) if (may_use(layer, order[i])) add_closure(order[i], set)
}

# Layers stand in LAYERS in rank order, so the reverse order is "dependents first".
function print_set(variable, set,    i, line, library) {
    line = variable " ="
    for (i = count; i >= 1; i--) if ((order[i] in set) && (order[i] in here)) {
        library = order[i]
        gsub("/", "-", library)
        line = line " $(top_builddir)/common/liblinnet-" library ".la"
    }
    print line
}

END {
    if (bad) exit 1
    n = split(present, names, " ")
    for (i = 1; i <= n; i++) here[names[i]] = 1
    for (i = 1; i <= count; i++) {
        split("", set)
        add_closure(order[i], set)
        variable = "libs_" order[i]
        gsub("/", "_", variable)
        print_set(variable, set)
        everything[order[i]] = 1
    }
    print_set("libs_all", everything)
}
