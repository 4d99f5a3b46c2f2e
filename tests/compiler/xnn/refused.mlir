// SPDX-License-Identifier: MIT
// What the operations of xnn require of their operands.
// RUN: sidra-opt %s --split-input-file --verify-diagnostics

func.func @binary(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  // expected-error @+1 {{has operands whose shapes do not broadcast}}
  %0 = xnn.binary add %x, %y : tensor<2x3xf32>, tensor<2xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @types(%x: tensor<2xf32>, %y: tensor<2xi32>) {
  // expected-error @+1 {{has operands of different types}}
  %0 = xnn.binary add %x, %y : tensor<2xf32>, tensor<2xi32> -> tensor<2xf32>
  return
}

// -----

func.func @comparison(%x: tensor<2xf32>) {
  // expected-error @+1 {{is a comparison, so its result is i1}}
  %0 = xnn.binary lt %x, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  return
}

// -----

func.func @bits(%x: tensor<2xf32>) {
  // expected-error @+1 {{takes integers only}}
  %0 = xnn.binary shl %x, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  return
}

// -----

func.func @constant() {
  // expected-error @+1 {{has elements of another type than its result}}
  %0 = xnn.constant(dense<1.0> : tensor<2xf32>) : tensor<3xf32>
  return
}

// -----

func.func @reduce(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{must have a result whose last dimension is 1}}
  %0 = xnn.reduce sum %x : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @matmul(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  // expected-error @+1 {{has factors whose inner dimensions differ}}
  %0 = xnn.matmul %x, %y : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @integers(%x: tensor<2x2xi32>) {
  // expected-error @+1 {{takes integers of 8 bits only}}
  %0 = xnn.matmul %x, %x : tensor<2x2xi32>, tensor<2x2xi32> -> tensor<2x2xi32>
  return
}

// -----

func.func @conv(%x: tensor<1x4x4x3xf32>, %w: tensor<3x3x3x8xf32>) {
  // expected-error @+1 {{has windows for a result of 2 instead of 4 in dimension 1}}
  %0 = xnn.conv %x, %w <[3, 3], stride = [1, 1], before = [0, 0], after = [0, 0], dilation = [1, 1]> groups 1
    : tensor<1x4x4x3xf32>, tensor<3x3x3x8xf32> -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @windows(%x: tensor<1x4x4x3xf32>) {
  // expected-error @+1 {{kernels, strides and dilations of windows are at least 1}}
  %0 = xnn.pool max %x <[2, 2], stride = [0, 1], before = [0, 0], after = [0, 0], dilation = [1, 1]>
    : tensor<1x4x4x3xf32> -> tensor<1x3x3x3xf32>
  return
}

// -----

func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{must keep the number of elements}}
  %0 = xnn.reshape %x : tensor<2x3xf32> -> tensor<5xf32>
  return
}

// -----

func.func @transpose(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{has no permutation of its dimensions}}
  %0 = xnn.transpose %x [0, 0] : tensor<2x3xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @slice(%x: tensor<4xf32>) {
  // expected-error @+1 {{leaves its input in dimension 0}}
  %0 = xnn.slice %x starts [2] steps [1] : tensor<4xf32> -> tensor<3xf32>
  return
}

// -----

func.func @concat(%x: tensor<2x2xf32>, %y: tensor<3x2xf32>) {
  // expected-error @+1 {{has inputs that differ in dimension 0}}
  %0 = xnn.concat %x, %y axis 1 : tensor<2x2xf32>, tensor<3x2xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @pad(%x: tensor<2xf32>) {
  // expected-error @+1 {{has a value of another type than its input}}
  %0 = xnn.pad %x before [1] after [0] value (0 : i32) : tensor<2xf32> -> tensor<3xf32>
  return
}

// -----

func.func @gather(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{has a result of the wrong type}}
  %0 = xnn.gather %x, %i : tensor<2x3xf32>, tensor<4xi64> -> tensor<4x2xf32>
  return
}

// -----

func.func @double(%x: tensor<2xf64>) {
  // expected-error @+1 {{operand #0 must be ranked tensor}}
  %0 = xnn.unary abs %x : tensor<2xf64>
  return
}

// -----

func.func @codes_without_zero(%x: tensor<3x2xui8>, %w: tensor<2x1xi8>, %s: tensor<1xf32>) -> tensor<3x1xf32> {
  // expected-error @below {{needs the code that stands for 0 if its input has codes, and only then}}
  %0 = xnn.linear %x, %w, %s : tensor<3x2xui8>, tensor<2x1xi8>, tensor<1xf32> -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// -----

func.func @no_function(%x: tensor<2xf32>) {
  // expected-error @+1 {{calls 'nonsense', which is no function of the host}}
  %0 = xnn.host "nonsense"(%x) [] : tensor<2xf32> -> tensor<2xf32>
  return
}

// -----

func.func @range_of_three(%x: tensor<3x2xf32>, %w: tensor<2x1xi8>, %s: tensor<1xf32>) -> tensor<3x1xf32> {
  // expected-error @below {{needs a range of two finite numbers in order}}
  %0 = xnn.linear %x, %w, %s {range = array<f32: 0.0, 1.0, 2.0>} : tensor<3x2xf32>, tensor<2x1xi8>, tensor<1xf32> -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// -----

func.func @seven_bits(%x: tensor<3x2xf32>, %w: tensor<2x1xi8>, %s: tensor<1xf32>) -> tensor<3x1xf32> {
  // expected-error @below {{has codes that do not have 8 or 16 bits}}
  %0 = xnn.linear %x, %w, %s {bits = 7 : i32} : tensor<3x2xf32>, tensor<2x1xi8>, tensor<1xf32> -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// -----

func.func @no_step(%x: tensor<3xf32>) -> tensor<3xui8> {
  // expected-error @below {{needs a step above 0}}
  %0 = xnn.quantise %x step 0.0 zero 0 : tensor<3xf32> -> tensor<3xui8>
  return %0 : tensor<3xui8>
}

// -----

func.func @host(%x: tensor<2x3x4xf32>) {
  // expected-error @+1 {{cannot call determinant: the input must be of matrices x rows x columns}}
  %0 = xnn.host "determinant"(%x) [] : tensor<2x3x4xf32> -> tensor<2xf32>
  return
}
