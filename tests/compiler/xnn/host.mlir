// SPDX-License-Identifier: MIT
// Functions of the host: their text, what they are of constants, and the calls that they become.
// RUN: sidra-opt %s | sidra-opt | FileCheck %s --check-prefix=TEXT
// RUN: sidra-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD
// RUN: sidra-opt %s --pass-pipeline='builtin.module(func.func(xnn-to-xbar,xbar-plan))' | FileCheck %s --check-prefix=CALL

// TEXT-LABEL: func.func @scatter
// FOLD-LABEL: func.func @scatter
// CALL-LABEL: func.func @scatter
func.func @scatter(%x: tensor<2x4xf32>, %i: tensor<3xi64>, %u: tensor<3x2xf32>) -> tensor<4x2xf32> {
  // CALL: xbar.alloc at 192
  // CALL: xbar.vector
  %0 = xnn.transpose %x [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
  // TEXT: xnn.host "scatter"(%{{.*}}, %{{.*}}, %{{.*}}) [1] : tensor<4x2xf32>, tensor<3xi64>, tensor<3x2xf32> -> tensor<4x2xf32>
  // FOLD: xnn.host "scatter"
  // CALL: xbar.host "scatter"(%{{.*}}, %{{.*}}, %{{.*}}) [0, 0, 0] [tensor<4x2xf32>, tensor<3xi64>, tensor<3x2xf32>] to %{{.*}} tensor<4x2xf32> parameters [1]
  %1 = xnn.host "scatter"(%0, %i, %u) [1] : tensor<4x2xf32>, tensor<3xi64>, tensor<3x2xf32> -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// A dense part of a buffer is not copied.
// CALL-LABEL: func.func @part
func.func @part(%x: tensor<4x3x3xf32>) -> tensor<2xf32> {
  %0 = xnn.slice %x starts [1, 0, 0] steps [1, 1, 1] : tensor<4x3x3xf32> -> tensor<2x3x3xf32>
  // CALL-NOT: xbar.vector
  // CALL: xbar.host "determinant"(%{{.*}}) [36] [tensor<2x3x3xf32>]
  %1 = xnn.host "determinant"(%0) [] : tensor<2x3x3xf32> -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// FOLD-LABEL: func.func @constants
func.func @constants() -> (tensor<2xf32>, tensor<3xi32>, tensor<2x1xi1>, tensor<2x1xf16>) {
  %m = xnn.constant(dense<[[[1.0, 2.0], [3.0, 4.0]], [[0.0, 2.0], [4.0, 1.0]]]> : tensor<2x2x2xf32>) : tensor<2x2x2xf32>
  %b = xnn.constant(dense<[2, -3, 7]> : tensor<3xi32>) : tensor<3xi32>
  %e = xnn.constant(dense<[10, 3, 0]> : tensor<3xi64>) : tensor<3xi64>
  %t = xnn.constant(dense<[[true], [false]]> : tensor<2x1xi1>) : tensor<2x1xi1>
  %h = xnn.constant(dense<[[1.5], [2.5]]> : tensor<2x1xf16>) : tensor<2x1xf16>
  %i = xnn.constant(dense<[-1]> : tensor<1xi32>) : tensor<1xi32>
  %yes = xnn.constant(dense<[[true]]> : tensor<1x1xi1>) : tensor<1x1xi1>
  %half = xnn.constant(dense<[[-0.25]]> : tensor<1x1xf16>) : tensor<1x1xf16>
  // FOLD-DAG: xnn.constant(dense<[-2.000000e+00, -8.000000e+00]> : tensor<2xf32>)
  %0 = xnn.host "determinant"(%m) [] : tensor<2x2x2xf32> -> tensor<2xf32>
  // FOLD-DAG: xnn.constant(dense<[1024, -27, 1]> : tensor<3xi32>)
  %1 = xnn.host "power"(%b, %e) [] : tensor<3xi32>, tensor<3xi64> -> tensor<3xi32>
  // FOLD-DAG: xnn.constant(dense<true> : tensor<2x1xi1>)
  %2 = xnn.host "scatter"(%t, %i, %yes) [0] : tensor<2x1xi1>, tensor<1xi32>, tensor<1x1xi1> -> tensor<2x1xi1>
  // FOLD-DAG: xnn.constant(dense<{{\[\[}}1.500000e+00], [-2.500000e-01]]> : tensor<2x1xf16>)
  %3 = xnn.host "scatter"(%h, %i, %half) [0] : tensor<2x1xf16>, tensor<1xi32>, tensor<1x1xf16> -> tensor<2x1xf16>
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<3xi32>, tensor<2x1xi1>, tensor<2x1xf16>
}

// An index that does not exist stays, and the run says so.
// FOLD-LABEL: func.func @undefined
func.func @undefined() -> tensor<1x1xi32> {
  %x = xnn.constant(dense<[[1]]> : tensor<1x1xi32>) : tensor<1x1xi32>
  %i = xnn.constant(dense<[1]> : tensor<1xi32>) : tensor<1xi32>
  // FOLD: xnn.host "scatter"
  %0 = xnn.host "scatter"(%x, %i, %x) [0] : tensor<1x1xi32>, tensor<1xi32>, tensor<1x1xi32> -> tensor<1x1xi32>
  return %0 : tensor<1x1xi32>
}

// Nothing is called for nothing.
// CALL-LABEL: func.func @empty
func.func @empty(%x: tensor<0x3xf32>, %i: tensor<0xi64>) -> tensor<0x3xf32> {
  // CALL-NOT: xbar.host
  %0 = xnn.host "scatter"(%x, %i, %x) [0] : tensor<0x3xf32>, tensor<0xi64>, tensor<0x3xf32> -> tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}
