// SPDX-License-Identifier: MIT
// Operations that the compiler computes, and operations that change nothing.
// RUN: sidra-opt %s --canonicalize | FileCheck %s

// The arithmetic of a shape: (dim / 2, dim % 3) of the numbers 7 and -7, towards zero.
// CHECK-LABEL: func.func @integers
func.func @integers() -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi32>, tensor<2xi8>, tensor<2xi1>) {
  %x = xnn.constant(dense<[7, -7]> : tensor<2xi64>) : tensor<2xi64>
  %two = xnn.constant(dense<2> : tensor<i64>) : tensor<i64>
  // CHECK-DAG: %[[HALF:.*]] = xnn.constant(dense<[3, -3]> : tensor<2xi64>)
  %0 = xnn.binary div %x, %two : tensor<2xi64>, tensor<i64> -> tensor<2xi64>
  // 64 bits here:
  // CHECK-DAG: %[[LARGE:.*]] = xnn.constant(dense<[8589934592, 8589934594]> : tensor<2xi64>)
  %big = xnn.constant(dense<[4294967296, 4294967297]> : tensor<2xi64>) : tensor<2xi64>
  %1 = xnn.binary mul %big, %two : tensor<2xi64>, tensor<i64> -> tensor<2xi64>
  // Modulo 2^32 as on the chip:
  // CHECK-DAG: %[[WRAPPED:.*]] = xnn.constant(dense<[-2147483648, 0]> : tensor<2xi32>)
  %i = xnn.constant(dense<[2147483647, -1]> : tensor<2xi32>) : tensor<2xi32>
  %one = xnn.constant(dense<1> : tensor<2xi32>) : tensor<2xi32>
  %2 = xnn.binary add %i, %one : tensor<2xi32>, tensor<2xi32> -> tensor<2xi32>
  // CHECK-DAG: %[[BYTES:.*]] = xnn.constant(dense<-1> : tensor<2xi8>)
  %3 = xnn.cast %i : tensor<2xi32> -> tensor<2xi8>
  // CHECK-DAG: %[[LESS:.*]] = xnn.constant(dense<[false, true]> : tensor<2xi1>)
  %4 = xnn.binary lt %x, %two : tensor<2xi64>, tensor<i64> -> tensor<2xi1>
  // CHECK: return %[[HALF]], %[[LARGE]], %[[WRAPPED]], %[[BYTES]], %[[LESS]]
  return %0, %1, %2, %3, %4 : tensor<2xi64>, tensor<2xi64>, tensor<2xi32>, tensor<2xi8>, tensor<2xi1>
}

// Modulo 2^8 and 2^16, too. A cast sees of 64 bits what the chip loads, and a float saturates.
// CHECK-LABEL: func.func @narrow
func.func @narrow() -> (tensor<2xui8>, tensor<2xui8>, tensor<2xui8>, tensor<2xi8>, tensor<2xi16>, tensor<2xi8>, tensor<2xui8>, tensor<1xui8>) {
  %x = xnn.constant(dense<[200, 5]> : tensor<2xui8>) : tensor<2xui8>
  %y = xnn.constant(dense<[100, 7]> : tensor<2xui8>) : tensor<2xui8>
  // CHECK-DAG: %[[SUM:.*]] = xnn.constant(dense<[44, 12]> : tensor<2xui8>)
  %0 = xnn.binary add %x, %y : tensor<2xui8>, tensor<2xui8> -> tensor<2xui8>
  // CHECK-DAG: %[[DIFFERENCE:.*]] = xnn.constant(dense<[100, 254]> : tensor<2xui8>)
  %1 = xnn.binary sub %x, %y : tensor<2xui8>, tensor<2xui8> -> tensor<2xui8>
  // CHECK-DAG: %[[INVERSE:.*]] = xnn.constant(dense<[55, 250]> : tensor<2xui8>)
  %2 = xnn.unary invert %x : tensor<2xui8>
  // CHECK-DAG: %[[SIGNED:.*]] = xnn.constant(dense<[-56, 5]> : tensor<2xi8>)
  %3 = xnn.cast %x : tensor<2xui8> -> tensor<2xi8>
  %words = xnn.constant(dense<[256, 32767]> : tensor<2xi16>) : tensor<2xi16>
  // CHECK-DAG: %[[WORDS:.*]] = xnn.constant(dense<[0, 1]> : tensor<2xi16>)
  %4 = xnn.binary mul %words, %words : tensor<2xi16>, tensor<2xi16> -> tensor<2xi16>
  %large = xnn.constant(dense<[4294967296, 300]> : tensor<2xi64>) : tensor<2xi64>
  // CHECK-DAG: %[[LARGE:.*]] = xnn.constant(dense<[-1, 44]> : tensor<2xi8>)
  %5 = xnn.cast %large : tensor<2xi64> -> tensor<2xi8>
  %floats = xnn.constant(dense<[300.0, -1.5]> : tensor<2xf32>) : tensor<2xf32>
  // CHECK-DAG: %[[BOUNDS:.*]] = xnn.constant(dense<[255, 0]> : tensor<2xui8>)
  %6 = xnn.cast %floats : tensor<2xf32> -> tensor<2xui8>
  // CHECK-DAG: %[[ROW:.*]] = xnn.constant(dense<144> : tensor<1xui8>)
  %row = xnn.constant(dense<200> : tensor<2xui8>) : tensor<2xui8>
  %7 = xnn.reduce sum %row : tensor<2xui8> -> tensor<1xui8>
  // CHECK: return %[[SUM]], %[[DIFFERENCE]], %[[INVERSE]], %[[SIGNED]], %[[WORDS]], %[[LARGE]], %[[BOUNDS]], %[[ROW]]
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<2xui8>, tensor<2xui8>, tensor<2xui8>, tensor<2xi8>, tensor<2xi16>, tensor<2xi8>, tensor<2xui8>, tensor<1xui8>
}

// CHECK-LABEL: func.func @floats
func.func @floats() -> (tensor<3xf32>, tensor<3xi32>, tensor<3xi32>, tensor<2xf16>, tensor<1xf32>, tensor<1xi32>) {
  %x = xnn.constant(dense<[-1.5, 2.5, 3.0e10]> : tensor<3xf32>) : tensor<3xf32>
  // CHECK-DAG: %[[ROUND:.*]] = xnn.constant(dense<[-2.000000e+00, 2.000000e+00, 3.000000e+10]> : tensor<3xf32>)
  %0 = xnn.unary round %x : tensor<3xf32>
  // CHECK-DAG: %[[DOWN:.*]] = xnn.constant(dense<[-1, 2, 2147483647]> : tensor<3xi32>)
  %1 = xnn.cast %x : tensor<3xf32> -> tensor<3xi32>
  // CHECK-DAG: %[[NEAR:.*]] = xnn.constant(dense<[-2, 2, 2147483647]> : tensor<3xi32>)
  %2 = xnn.cast nearest %x : tensor<3xf32> -> tensor<3xi32>
  // 2049 is no f16, and 70000 is beyond them.
  // CHECK-DAG: %[[HALF:.*]] = xnn.constant(dense<[2.048000e+03, 0x7C00]> : tensor<2xf16>)
  %h = xnn.constant(dense<[2049.0, 70000.0]> : tensor<2xf32>) : tensor<2xf32>
  %3 = xnn.cast %h : tensor<2xf32> -> tensor<2xf16>
  // CHECK-DAG: %[[SUM:.*]] = xnn.constant(dense<3.000000e+10> : tensor<1xf32>)
  %4 = xnn.reduce max %x : tensor<3xf32> -> tensor<1xf32>
  // CHECK-DAG: %[[PLACE:.*]] = xnn.constant(dense<2> : tensor<1xi32>)
  %5 = xnn.reduce argmax %x : tensor<3xf32> -> tensor<1xi32>
  // CHECK: return %[[ROUND]], %[[DOWN]], %[[NEAR]], %[[HALF]], %[[SUM]], %[[PLACE]]
  return %0, %1, %2, %3, %4, %5 : tensor<3xf32>, tensor<3xi32>, tensor<3xi32>, tensor<2xf16>, tensor<1xf32>, tensor<1xi32>
}

// CHECK-LABEL: func.func @moved
func.func @moved() -> (tensor<3x2xi64>, tensor<2x2xi64>, tensor<2x2x3xi64>, tensor<2x4xi64>, tensor<1x3xi64>, tensor<2x3xi64>) {
  %x = xnn.constant(dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>) : tensor<2x3xi64>
  // CHECK-DAG: %[[T:.*]] = xnn.constant(dense<{{\[\[}}1, 4], [2, 5], [3, 6{{\]\]}}> : tensor<3x2xi64>)
  %0 = xnn.transpose %x [1, 0] : tensor<2x3xi64> -> tensor<3x2xi64>
  // CHECK-DAG: %[[S:.*]] = xnn.constant(dense<{{\[\[}}6, 4], [3, 1{{\]\]}}> : tensor<2x2xi64>)
  %1 = xnn.slice %x starts [1, 2] steps [-1, -2] : tensor<2x3xi64> -> tensor<2x2xi64>
  // CHECK-DAG: %[[B:.*]] = xnn.constant(dense<{{\[\[\[}}1, 2, 3], [4, 5, 6{{\]\]}}, {{\[\[}}1, 2, 3], [4, 5, 6{{\]\]\]}}> : tensor<2x2x3xi64>)
  %2 = xnn.broadcast %x : tensor<2x3xi64> -> tensor<2x2x3xi64>
  %one = xnn.constant(dense<[[8], [9]]> : tensor<2x1xi64>) : tensor<2x1xi64>
  // CHECK-DAG: %[[C:.*]] = xnn.constant(dense<{{\[\[}}8, 1, 2, 3], [9, 4, 5, 6{{\]\]}}> : tensor<2x4xi64>)
  %3 = xnn.concat %one, %x axis 1 : tensor<2x1xi64>, tensor<2x3xi64> -> tensor<2x4xi64>
  %i = xnn.constant(dense<[1]> : tensor<1xi64>) : tensor<1xi64>
  // CHECK-DAG: %[[G:.*]] = xnn.constant(dense<{{\[\[}}4, 5, 6{{\]\]}}> : tensor<1x3xi64>)
  %4 = xnn.gather %x, %i : tensor<2x3xi64>, tensor<1xi64> -> tensor<1x3xi64>
  %c = xnn.constant(dense<[[true], [false]]> : tensor<2x1xi1>) : tensor<2x1xi1>
  %zero = xnn.constant(dense<0> : tensor<i64>) : tensor<i64>
  // CHECK-DAG: %[[W:.*]] = xnn.constant(dense<{{\[\[}}1, 2, 3], [0, 0, 0{{\]\]}}> : tensor<2x3xi64>)
  %5 = xnn.select %c, %x, %zero : tensor<2x1xi1>, tensor<2x3xi64>, tensor<i64> -> tensor<2x3xi64>
  // CHECK: return %[[T]], %[[S]], %[[B]], %[[C]], %[[G]], %[[W]]
  return %0, %1, %2, %3, %4, %5 : tensor<3x2xi64>, tensor<2x2xi64>, tensor<2x2x3xi64>, tensor<2x4xi64>, tensor<1x3xi64>, tensor<2x3xi64>
}

// CHECK-LABEL: func.func @views
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>
func.func @views(%x: tensor<2x3x4xf32>) -> (tensor<24xf32>, tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<2x1x2xf32>) {
  %0 = xnn.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  // CHECK: %[[R:.*]] = xnn.reshape %[[X]] : tensor<2x3x4xf32> -> tensor<24xf32>
  %1 = xnn.reshape %0 : tensor<6x4xf32> -> tensor<24xf32>
  %2 = xnn.reshape %1 : tensor<24xf32> -> tensor<2x3x4xf32>
  %3 = xnn.transpose %x [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  // CHECK: %[[T:.*]] = xnn.transpose %[[X]] [2, 0, 1]
  %4 = xnn.transpose %3 [1, 2, 0] : tensor<3x4x2xf32> -> tensor<4x2x3xf32>
  %5 = xnn.slice %x starts [0, 1, 3] steps [1, 1, -1] : tensor<2x3x4xf32> -> tensor<2x2x4xf32>
  // CHECK: %[[S:.*]] = xnn.slice %[[X]] starts [0, 2, 2] steps [1, 1, -2]
  %6 = xnn.slice %5 starts [0, 1, 1] steps [1, 1, 2] : tensor<2x2x4xf32> -> tensor<2x1x2xf32>
  // CHECK: return %[[R]], %[[X]], %[[T]], %[[S]]
  return %1, %2, %4, %6 : tensor<24xf32>, tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<2x1x2xf32>
}

// CHECK-LABEL: func.func @identities
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
func.func @identities(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %one = xnn.constant(dense<1.0> : tensor<f32>) : tensor<f32>
  %minus_zero = xnn.constant(dense<-0.0> : tensor<2xf32>) : tensor<2xf32>
  %yes = xnn.constant(dense<true> : tensor<i1>) : tensor<i1>
  %0 = xnn.binary mul %one, %x : tensor<f32>, tensor<2xf32> -> tensor<2xf32>
  %1 = xnn.binary div %x, %one : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  %2 = xnn.binary add %x, %minus_zero : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %3 = xnn.select %yes, %x, %one : tensor<i1>, tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  %4 = xnn.concat %x axis 0 : tensor<2xf32> -> tensor<2xf32>
  %5 = xnn.cast %x : tensor<2xf32> -> tensor<2xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -0 + 0 is 0, a wider result is not the operand, and only a view keeps the bytes of the store.
// CHECK-LABEL: func.func @kept
func.func @kept(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<2x2xf32>) {
  %zero = xnn.constant(dense<0.0> : tensor<f32>) : tensor<f32>
  %ones = xnn.constant(dense<1.0> : tensor<2x1xf32>) : tensor<2x1xf32>
  // CHECK-DAG: xnn.constant(#xnn.values<"w", "ff">) : tensor<4xf32>
  %w = xnn.constant(#xnn.values<"w", "ff">) : tensor<2x2xf32>
  // CHECK: xnn.binary add
  %0 = xnn.binary add %x, %zero : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  // CHECK: xnn.binary mul
  %1 = xnn.binary mul %x, %ones : tensor<2xf32>, tensor<2x1xf32> -> tensor<2x2xf32>
  // CHECK-NOT: xnn.reshape
  %2 = xnn.reshape %w : tensor<2x2xf32> -> tensor<4xf32>
  // CHECK: xnn.transpose
  %3 = xnn.transpose %w [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<2x2xf32>
}

// What is not defined stays: a division by zero, and an index beyond the input.
// CHECK-LABEL: func.func @undefined
func.func @undefined() -> (tensor<i64>, tensor<1xi64>) {
  %zero = xnn.constant(dense<0> : tensor<i64>) : tensor<i64>
  %x = xnn.constant(dense<[1, 2]> : tensor<2xi64>) : tensor<2xi64>
  %two = xnn.constant(dense<2> : tensor<1xi64>) : tensor<1xi64>
  // CHECK: xnn.binary div
  %0 = xnn.binary div %zero, %zero : tensor<i64>, tensor<i64> -> tensor<i64>
  // CHECK: xnn.gather
  %1 = xnn.gather %x, %two : tensor<2xi64>, tensor<1xi64> -> tensor<1xi64>
  return %0, %1 : tensor<i64>, tensor<1xi64>
}
