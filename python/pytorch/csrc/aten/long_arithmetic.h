// SPDX-License-Identifier: MIT
// Arithmetic of s64 for Pointwise: the chip computes 32 bits, so a program sees the two words of each number. a, b, c
// and r are the low words, A, B, C and R the high ones. t, u, w, x, y and z are temporaries.
#ifndef SIDRA_PYTORCH_LONG_ARITHMETIC_H
#define SIDRA_PYTORCH_LONG_ARITHMETIC_H

// t = low words a < b without sign: as numbers with sign once their highest bits are inverted.
#define SIDRA_LOW_LESS(a, b) "t = xor " a ", -2147483648; u = xor " b ", -2147483648; t = lt_int t, u; "
// t = a < b, or a <= b.
#define SIDRA_LONG_LESS(a, b, A, B) \
    SIDRA_LOW_LESS(a, b) "u = eq_int " A ", " B "; t = and t, u; u = lt_int " A ", " B "; t = or t, u"
#define SIDRA_LONG_LESS_EQUAL(a, b, A, B)                                                           \
    "t = xor " a ", -2147483648; u = xor " b ", -2147483648; t = le_int t, u; u = eq_int " A ", " B \
    "; t = and t, u; u = lt_int " A ", " B "; t = or t, u"

namespace sidra::pytorch {

// A mask is -1 where it is true, so subtracting it adds a carry.
inline constexpr const char* kLongAdd =
    "r = add_int a, b; " SIDRA_LOW_LESS("r", "b") "R = add_int A, B; R = sub_int R, t";
inline constexpr const char* kLongSub = SIDRA_LOW_LESS("a", "b") "r = sub_int a, b; R = sub_int A, B; R = add_int R, t";
inline constexpr const char* kLongNeg = "t = ne_int a, 0; r = sub_int 0, a; R = sub_int 0, A; R = add_int R, t";
// (a xor sign) - sign.
inline constexpr const char* kLongAbs =
    "t = shr A, 31; u = xor a, t; w = xor A, t; r = sub_int u, t; x = eq_int r, 0; x = and x, t; R = sub_int w, x";
// The low words' product has 64 bits: of their halves, as in long multiplication.
inline constexpr const char* kLongMul =
    "r = mul_int a, b; t = and a, 65535; u = shr_unsigned a, 16; w = and b, 65535; x = shr_unsigned b, 16; "
    "y = mul_int t, w; y = shr_unsigned y, 16; z = mul_int u, w; y = add_int y, z; "
    "z = and y, 65535; w = mul_int t, x; z = add_int z, w; z = shr_unsigned z, 16; y = shr_unsigned y, 16; "
    "R = mul_int u, x; R = add_int R, y; R = add_int R, z; "
    "t = mul_int a, B; R = add_int R, t; t = mul_int A, b; R = add_int R, t";
inline constexpr const char* kLongLt = SIDRA_LONG_LESS("a", "b", "A", "B");
inline constexpr const char* kLongLe = SIDRA_LONG_LESS_EQUAL("a", "b", "A", "B");
inline constexpr const char* kLongGt = SIDRA_LONG_LESS("b", "a", "B", "A");
inline constexpr const char* kLongGe = SIDRA_LONG_LESS_EQUAL("b", "a", "B", "A");
inline constexpr const char* kLongEq = "t = eq_int a, b; u = eq_int A, B; t = and t, u";
inline constexpr const char* kLongNe = "t = ne_int a, b; u = ne_int A, B; t = or t, u";
inline constexpr const char* kLongMax = SIDRA_LONG_LESS("a", "b", "A", "B") "; r = select t, b, a; R = select t, B, A";
inline constexpr const char* kLongMin = SIDRA_LONG_LESS("a", "b", "A", "B") "; r = select t, a, b; R = select t, A, B";

}  // namespace sidra::pytorch

#undef SIDRA_LOW_LESS
#undef SIDRA_LONG_LESS
#undef SIDRA_LONG_LESS_EQUAL

#endif
