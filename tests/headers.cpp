// SPDX-License-Identifier: MIT
// Gives the precompiled headers of the tests (CMakeLists.txt) a target.
int main() {}
