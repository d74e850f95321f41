/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* data_test.c: the component's use of Open MPI's convertors, in one process and without a network: packed and unpacked in pieces of every size, begun
 * again in the middle, ended early; device memory refused. */
#include "mtl_linnet.h"

#include "../mpi/types.h"

#include "ompi/datatype/ompi_datatype.h"
#include "opal/datatype/opal_datatype_internal.h"

/* LeakSanitizer asks this (sanitizer/lsan_interface.h). Open MPI keeps memory of its own past MPI_Finalize; what is ours, the long carry, is looked at
 * below. */
int __lsan_is_turned_off(void) __attribute__((visibility("default")));
int __lsan_is_turned_off(void)
{
    return 1;
}

static int lines;
static char last_line[256];

void mtl_linnet_log(void *arg, linnet_log_level_t level, const char *line)
{
    (void)arg;
    ++lines;
    CHECK(level == LINNET_LOG_ERROR);
    snprintf(last_line, sizeof last_line, "%s", line);
}

static unsigned long long state = 20261122;
/* Marsaglia's xorshift: a number below `bound`. */
static size_t below(size_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % bound);
}

static void prepare(opal_convertor_t *convertor, bool receives, MPI_Datatype type, int count, void *buffer)
{
    OBJ_CONSTRUCT(convertor, opal_convertor_t);
    int status = receives ? opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, (size_t)count, buffer, 0, convertor)
                          : opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, (size_t)count, buffer, 0, convertor);
    CHECK_EQ(status, OPAL_SUCCESS);
}

typedef struct layout {
    MPI_Datatype type;
    int count;
    size_t span;
    size_t packed;
    size_t unit;   /* wanted; 0: any */
} layout_t;

/* Packs all of `from` in pieces of at most `longest` bytes; five times it begins again somewhere before. */
static void pack_in_pieces(const layout_t *layout, unsigned char *from, unsigned char *to, size_t longest)
{
    mtl_linnet_op_t op;
    opal_convertor_t convertor;
    linnet_data_t data;

    prepare(&convertor, false, layout->type, layout->count, from);
    CHECK_EQ(mtl_linnet_data(&op, &convertor, &data), OMPI_SUCCESS);
    CHECK_EQ(data.length, layout->packed);
    CHECK(data.pack != NULL);
    int again = 5;
    for (size_t offset = 0; offset < layout->packed;) {
        size_t bytes = 1 + below(longest);
        if (again > 0 && below(8) == 0) {
            --again;
            offset = below(offset + 1);
        }
        bytes = bytes < layout->packed - offset ? bytes : layout->packed - offset;
        data.pack(data.pack_arg, offset, to + offset, bytes);
        offset += bytes;
    }
    CHECK(!op.pack_failed);
    OBJ_DESTRUCT(&convertor);
}

/* The first `bytes` bytes of `from`, likewise, into `to`. Then the receive ends, well or not. */
static void unpack_in_pieces(const layout_t *layout, const unsigned char *from, size_t bytes, unsigned char *to, size_t longest, bool whole)
{
    mtl_linnet_op_t op;
    opal_convertor_t convertor;
    linnet_data_t data;

    prepare(&convertor, true, layout->type, layout->count, to);
    CHECK_EQ(mtl_linnet_data(&op, &convertor, &data), OMPI_SUCCESS);
    CHECK(data.unpack != NULL);
    CHECK_EQ(op.unit, layout->unit);
    CHECK((op.long_carry != NULL) == (layout->unit > sizeof op.carry));
    int again = 5;
    for (size_t offset = 0; offset < bytes;) {
        size_t piece = 1 + below(longest);
        if (again > 0 && below(8) == 0) {
            --again;
            offset = below(offset + 1);
        }
        piece = piece < bytes - offset ? piece : bytes - offset;
        data.unpack(data.pack_arg, offset, from + offset, piece);
        offset += piece;
        CHECK(layout->unit == 0 || convertor.bConverted % layout->unit == 0);
    }
    mtl_linnet_data_received(&op, whole);
    CHECK(op.long_carry == NULL);
    CHECK(!op.pack_failed);
    OBJ_DESTRUCT(&convertor);
}

static void every_way(const layout_t *layout)
{
    static const size_t longest[] = {1, 7, 40, 100, 1500, 100000};
    unsigned char *user = check_alloc(layout->span), *there = check_alloc(layout->span), *packed = check_alloc(layout->packed);

    pattern_fill(user, layout->span, 3);
    for (size_t i = 0; i < sizeof longest / sizeof *longest; ++i) {
        pattern_fill(there, layout->span, 4);
        pack_in_pieces(layout, user, packed, longest[i]);
        unpack_in_pieces(layout, packed, layout->packed, there, longest[i], true);
        CHECK_EQ(layout_differs(there, layout->span, layout->type, layout->count, 3, 4), -1);
    }
    free(user);
    free(there);
    free(packed);
}

static void layouts(void)
{
    static const size_t units[LAYOUTS] = {0, 0, 0, 0, 0, 33};
    for (int which = 1; which < LAYOUTS; ++which) {   /* 0 lies together */
        layout_t layout = {.unit = units[which]};
        layout_make(which, 6000, &layout.type, &layout.count, &layout.span);
        int size = 0;
        MPI_Type_size(layout.type, &size);
        layout.packed = (size_t)size * (size_t)layout.count;
        every_way(&layout);
        MPI_Type_free(&layout.type);
    }
}

/* One element of many strided long double complex, and the same behind a char, for which the unit is the whole element. */
static void wide_elements(void)
{
    enum { ELEMENTS = 300 };
    const size_t wide = sizeof(long double _Complex);
    layout_t strided = {.count = 1, .unit = wide, .packed = ELEMENTS * wide, .span = 2 * ELEMENTS * wide};
    MPI_Type_vector(ELEMENTS, 1, 2, MPI_C_LONG_DOUBLE_COMPLEX, &strided.type);
    MPI_Type_commit(&strided.type);
    every_way(&strided);

    layout_t mixed = {.count = 3, .unit = 1 + strided.packed, .packed = 3 * (1 + strided.packed), .span = 3 * (strided.span + 16)};
    MPI_Datatype bare, parts[2] = {MPI_CHAR, strided.type};
    MPI_Type_create_struct(2, (int[2]){1, 1}, (MPI_Aint[2]){0, 16}, parts, &bare);
    MPI_Type_create_resized(bare, 0, (MPI_Aint)(strided.span + 16), &mixed.type);
    MPI_Type_commit(&mixed.type);
    every_way(&mixed);

    /* A message that ends behind the char of the second element, and a receive that fails there. */
    unsigned char *packed = check_alloc(mixed.packed), *there = check_alloc(mixed.span);
    pattern_fill(packed, mixed.packed, 5);
    for (int whole = 0; whole < 2; ++whole) {
        pattern_fill(there, mixed.span, 6);
        unpack_in_pieces(&mixed, packed, mixed.unit + 1, there, 50, whole != 0);
        size_t second = strided.span + 16;
        CHECK_EQ(there[second], whole ? packed[mixed.unit] : pattern_byte(6, second));
        CHECK_EQ(there[second + 16], pattern_byte(6, second + 16));
        CHECK_EQ(there[0], packed[0]);
    }
    free(packed);
    free(there);
    MPI_Type_free(&mixed.type);
    MPI_Type_free(&bare);
    MPI_Type_free(&strided.type);
}

/* What ends within an element is no message for this receive: an error, and nothing is written behind it. */
static void ends_within_an_element(void)
{
    mtl_linnet_op_t op;
    opal_convertor_t convertor;
    linnet_data_t data;
    unsigned char packed[64], there[8 * sizeof(long double _Complex)];
    MPI_Datatype type;

    MPI_Type_vector(4, 1, 2, MPI_C_LONG_DOUBLE_COMPLEX, &type);
    MPI_Type_commit(&type);
    pattern_fill(packed, sizeof packed, 7);
    pattern_fill(there, sizeof there, 8);
    prepare(&convertor, true, type, 1, there);
    CHECK_EQ(mtl_linnet_data(&op, &convertor, &data), OMPI_SUCCESS);
    data.unpack(data.pack_arg, 0, packed, 32 + 24);
    mtl_linnet_data_received(&op, true);
    CHECK(op.pack_failed);
    CHECK(memcmp(there, packed, 32) == 0);
    CHECK_EQ(there[64], pattern_byte(8, 64));
    OBJ_DESTRUCT(&convertor);
    MPI_Type_free(&type);
}

/* Open MPI marks a convertor whose buffer is device memory; there is no device here, so the mark is ours. */
static void refuses_device_memory(void)
{
    int data[4] = {0};
    for (int receives = 0; receives < 2; ++receives) {
        mtl_linnet_op_t op;
        opal_convertor_t convertor;
        linnet_data_t described;
        prepare(&convertor, receives != 0, MPI_INT, 4, data);
        convertor.flags |= MTL_LINNET_ON_DEVICE;
        lines = 0;
        CHECK_EQ(mtl_linnet_data(&op, &convertor, &described), OMPI_ERR_NOT_SUPPORTED);
        CHECK_EQ(lines, 1);
        CHECK(strstr(last_line, "device") != NULL && strstr(last_line, "--mca pml ob1") != NULL);
        OBJ_DESTRUCT(&convertor);
    }
    CHECK(strlen(last_line) > 0);
}

int main(int argc, char **argv)
{
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 1);   /* no daemon beside it */
    setenv("OMPI_MCA_pml", "ob1", 1);
    setenv("OMPI_MCA_btl", "self", 1);
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    layouts();
    wide_elements();
    ends_within_an_element();
    refuses_device_memory();
    return check_end("data");
}
