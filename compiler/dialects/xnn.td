// SPDX-License-Identifier: MIT
// The dialect `xnn`: a network on tensors, before it has a place on the chip. Values are immutable; every operation is a
// function. Images are in the order image, height, width, channel. Big constants are not in the text: they have a name
// and the hash of their values (values/store.h).
#ifndef SIDRA_COMPILER_XNN_TD
#define SIDRA_COMPILER_XNN_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Xnn_Dialect : Dialect {
  let name = "xnn";
  let cppNamespace = "::sidra::xnn";
  let summary = "A network on tensors";
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    // The values of the modules of this context.
    ::sidra::compiler::Store& store() { return store_; }

   private:
    ::sidra::compiler::Store store_;

   public:
  }];
}

class Xnn_Op<string mnemonic, list<Trait> traits = []> : Op<Xnn_Dialect, mnemonic, [Pure] # traits>;

// What the chip has as elements: struct sidra_type.
def Xnn_Element : AnyTypeOf<[F32, F16, BF16, I1, I8, UI8, I16, I32, I64]>;
def Xnn_Tensor : RankedTensorOf<[Xnn_Element]>;
def Xnn_Float : RankedTensorOf<[F32, F16, BF16]>;
def Xnn_Index : RankedTensorOf<[I32, I64]>;
def Xnn_LayerInput : RankedTensorOf<[F32, F16, BF16, UI8]>;

// ---- Constants ------------------------------------------------------------------------------------------------------

def Xnn_Values : AttrDef<Xnn_Dialect, "Values"> {
  let mnemonic = "values";
  let summary = "Values that are kept outside of the module, by the hash of their bytes";
  let parameters = (ins StringRefParameter<"what the source calls them">:$name,
                        StringRefParameter<"hash of the bytes, in hexadecimal">:$hash);
  let assemblyFormat = "`<` $name `,` $hash `>`";
}

def Xnn_ConstantOp : Xnn_Op<"constant", [ConstantLike]> {
  let summary = "A constant: elements in the text, or values of the store";
  let arguments = (ins AnyAttrOf<[ElementsAttr, Xnn_Values]>:$value);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "`(` $value `)` attr-dict `:` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

// ---- Elementwise ----------------------------------------------------------------------------------------------------

class Xnn_Case<string name, int value> : I32EnumAttrCase<name, value>;

// The arithmetic is that of the chip's vector programs (docs/device.md): in f32 for f32, f16 and bf16, and in s32 for
// integers and booleans.
def Xnn_Unary : I32EnumAttr<"Unary", "function of one element", [
    Xnn_Case<"neg", 0>, Xnn_Case<"abs", 1>, Xnn_Case<"sqrt", 2>, Xnn_Case<"rsqrt", 3>, Xnn_Case<"floor", 4>,
    Xnn_Case<"ceil", 5>, Xnn_Case<"round", 6>, Xnn_Case<"trunc", 7>, Xnn_Case<"exp", 8>, Xnn_Case<"log", 9>,
    Xnn_Case<"erf", 10>, Xnn_Case<"tanh", 11>, Xnn_Case<"sigmoid", 12>, Xnn_Case<"silu", 13>, Xnn_Case<"gelu", 14>,
    Xnn_Case<"gelu_tanh", 15>, Xnn_Case<"sin", 16>, Xnn_Case<"cos", 17>, Xnn_Case<"invert", 18>]> {
  let cppNamespace = "::sidra::xnn";
}
def Xnn_Binary : I32EnumAttr<"Binary", "function of two elements", [
    Xnn_Case<"add", 0>, Xnn_Case<"sub", 1>, Xnn_Case<"mul", 2>, Xnn_Case<"div", 3>, Xnn_Case<"max", 4>,
    Xnn_Case<"min", 5>, Xnn_Case<"lt", 6>, Xnn_Case<"le", 7>, Xnn_Case<"eq", 8>, Xnn_Case<"ne", 9>,
    Xnn_Case<"bit_and", 10>, Xnn_Case<"bit_or", 11>, Xnn_Case<"bit_xor", 12>, Xnn_Case<"shl", 13>, Xnn_Case<"shr", 14>]> {
  let cppNamespace = "::sidra::xnn";
}

def Xnn_UnaryOp : Xnn_Op<"unary", [SameOperandsAndResultType]> {
  let summary = "A function of each element";
  let arguments = (ins Xnn_Unary:$function, Xnn_Tensor:$input);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "$function $input attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Xnn_BinaryOp : Xnn_Op<"binary"> {
  let summary = "A function of two elements; shapes broadcast as in NumPy. Comparisons give i1";
  let arguments = (ins Xnn_Binary:$function, Xnn_Tensor:$lhs, Xnn_Tensor:$rhs);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "$function $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Xnn_SelectOp : Xnn_Op<"select"> {
  let summary = "The element of `yes` where the condition is true, else that of `no`; shapes broadcast";
  let arguments = (ins RankedTensorOf<[I1]>:$condition, Xnn_Tensor:$yes, Xnn_Tensor:$no);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat =
      "$condition `,` $yes `,` $no attr-dict `:` type($condition) `,` type($yes) `,` type($no) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Xnn_CastOp : Xnn_Op<"cast"> {
  let summary = "Each element in another type";
  let description = [{
    Of a float to an integer: towards zero, saturated; with `nearest` to the nearest, ties to even. Of an integer to a
    narrower one: modulo 2^bits, of an i64 as the s32 that the chip loads. To i1: whether it is not zero.
  }];
  let arguments = (ins Xnn_Tensor:$input, UnitAttr:$nearest);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "(`nearest` $nearest^)? $input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Xnn_IotaOp : Xnn_Op<"iota"> {
  let summary = "The index along a dimension";
  let arguments = (ins I64Attr:$axis);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

// ---- Along dimensions -----------------------------------------------------------------------------------------------

def Xnn_Reduction : I32EnumAttr<"Reduction", "what combines the elements along a dimension", [
    Xnn_Case<"sum", 0>, Xnn_Case<"max", 1>, Xnn_Case<"min", 2>, Xnn_Case<"argmax", 3>, Xnn_Case<"argmin", 4>]> {
  let cppNamespace = "::sidra::xnn";
}

def Xnn_ReduceOp : Xnn_Op<"reduce"> {
  let summary = "Combines the elements along the last dimension, whose size becomes 1. argmax and argmin: i32, the first";
  let arguments = (ins Xnn_Reduction:$function, Xnn_Tensor:$input);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "$function $input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Xnn_ScanOp : Xnn_Op<"scan", [SameOperandsAndResultType]> {
  let summary = "Sums of the elements up to each one, along the last dimension";
  let arguments = (ins Xnn_Tensor:$input);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def Xnn_SortOp : Xnn_Op<"sort"> {
  let summary = "The first elements of each row (the last dimension) in order, and where they were";
  let arguments = (ins Xnn_Tensor:$input, UnitAttr:$descending);
  let results = (outs Xnn_Tensor:$values, RankedTensorOf<[I64]>:$indices);
  let assemblyFormat = [{
    (`descending` $descending^)? $input attr-dict `:` type($input) `->` type($values) `,` type($indices)
  }];
  let hasVerifier = 1;
}

// ---- Products and windows -------------------------------------------------------------------------------------------

def Xnn_MatmulOp : Xnn_Op<"matmul"> {
  let summary = "Products of matrices, the last two dimensions; those before broadcast. Of i8 and ui8: i32";
  let arguments = (ins Xnn_Tensor:$lhs, Xnn_Tensor:$rhs);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

def Xnn_QuantiseOp : Xnn_Op<"quantise"> {
  let summary = "Codes of floats: the nearest integer to input / step + zero, ties to even, from 0 to 255";
  let arguments = (ins RankedTensorOf<[F32]>:$input, F32Attr:$step, I32Attr:$zero);
  let results = (outs RankedTensorOf<[UI8]>:$result);
  let assemblyFormat = "$input `step` $step `zero` $zero attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Xnn_LinearOp : Xnn_Op<"linear"> {
  let summary = "Each row (the last dimension) times a matrix K x N of weights on crossbars";
  let description = [{
    Crossbars multiply codes of 8 bits. An input of floats becomes codes row by row, with a step and a zero of each row,
    from its smallest and largest value. An input of ui8 has the codes already, of which `zero` stands for 0.
    result = (input - zero) * weights * scale; `scale` has a factor for each column. `range` has the smallest and the
    largest value that calibration expects of an input of floats, and `bits` (8 or 16) how many bits its codes need. Layers with
    the same weights share their crossbars, except those with another `copy`.
  }];
  let arguments = (ins Xnn_LayerInput:$input, RankedTensorOf<[I8]>:$weights, RankedTensorOf<[F32]>:$scale,
                       OptionalAttr<I32Attr>:$zero, OptionalAttr<DenseF32ArrayAttr>:$range,
                       DefaultValuedAttr<I32Attr, "8">:$bits,
                       DefaultValuedAttr<I32Attr, "0">:$copy);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $input `,` $weights `,` $scale attr-dict `:` type($input) `,` type($weights) `,` type($scale) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Xnn_Windows : AttrDef<Xnn_Dialect, "Windows"> {
  let mnemonic = "windows";
  let summary = "Windows of images: sizes, steps, pixels of padding before and after, and dilations, of height and width";
  let parameters = (ins ArrayRefParameter<"int64_t">:$kernel, ArrayRefParameter<"int64_t">:$stride,
                        ArrayRefParameter<"int64_t">:$before, ArrayRefParameter<"int64_t">:$after,
                        ArrayRefParameter<"int64_t">:$dilation);
  let assemblyFormat = [{
    `<` `[` $kernel `]` `,` `stride` `=` `[` $stride `]` `,` `before` `=` `[` $before `]` `,` `after` `=` `[` $after `]`
    `,` `dilation` `=` `[` $dilation `]` `>`
  }];
  let genVerifyDecl = 1;
}

def Xnn_ConvOp : Xnn_Op<"conv"> {
  let summary = "Convolution of images with filters height x width x channels of a group x filters";
  let arguments = (ins Xnn_Tensor:$input, Xnn_Tensor:$filters, Xnn_Windows:$windows, I64Attr:$groups);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $filters $windows `groups` $groups attr-dict `:` type($input) `,` type($filters) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Xnn_ConvLayerOp : Xnn_Op<"conv_layer"> {
  let summary = "A convolution by weights on crossbars: a matrix of height * width * channels x filters. As xnn.linear";
  let arguments = (ins Xnn_LayerInput:$input, RankedTensorOf<[I8]>:$weights, RankedTensorOf<[F32]>:$scale,
                       Xnn_Windows:$windows, OptionalAttr<I32Attr>:$zero, OptionalAttr<DenseF32ArrayAttr>:$range,
                       DefaultValuedAttr<I32Attr, "8">:$bits,
                       DefaultValuedAttr<I32Attr, "0">:$copy);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $input `,` $weights `,` $scale $windows attr-dict `:` type($input) `,` type($weights) `,` type($scale) `->`
    type($result)
  }];
  let hasVerifier = 1;
}

def Xnn_Pooling : I32EnumAttr<"Pooling", "what combines the pixels of a window", [
    Xnn_Case<"max", 1>, Xnn_Case<"argmax", 2>, Xnn_Case<"average", 3>, Xnn_Case<"average_all", 4>]> {
  let cppNamespace = "::sidra::xnn";
}

def Xnn_PoolOp : Xnn_Op<"pool"> {
  let summary = "Combines the pixels of each window, for each channel. average_all divides by the size of the kernel";
  let arguments = (ins Xnn_Pooling:$function, Xnn_Tensor:$input, Xnn_Windows:$windows);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "$function $input $windows attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

// ---- The same elements in another shape -----------------------------------------------------------------------------

def Xnn_ReshapeOp : Xnn_Op<"reshape"> {
  let summary = "The same elements in the same order";
  let arguments = (ins Xnn_Tensor:$input);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Xnn_TransposeOp : Xnn_Op<"transpose"> {
  let summary = "Dimension i of the result is dimension permutation[i] of the input";
  let arguments = (ins Xnn_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Xnn_SliceOp : Xnn_Op<"slice"> {
  let summary = "Some elements of each dimension: start, start + step, ...; a step may be negative";
  let arguments = (ins Xnn_Tensor:$input, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "$input `starts` $starts `steps` $steps attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Xnn_BroadcastOp : Xnn_Op<"broadcast"> {
  let summary = "Repeats the elements, as NumPy's broadcast_to()";
  let arguments = (ins Xnn_Tensor:$input);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Xnn_ConcatOp : Xnn_Op<"concat"> {
  let summary = "The inputs behind each other, along a dimension";
  let arguments = (ins Variadic<Xnn_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` type($inputs) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Xnn_PadOp : Xnn_Op<"pad"> {
  let summary = "Elements of one value around the input";
  let arguments = (ins Xnn_Tensor:$input, DenseI64ArrayAttr:$before, DenseI64ArrayAttr:$after, TypedAttrInterface:$value);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "$input `before` $before `after` $after `value` `(` $value `)` attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Xnn_GatherOp : Xnn_Op<"gather"> {
  let summary = "Rows (all but the first dimension) of the input, by index: as NumPy's take() along dimension 0";
  let arguments = (ins Xnn_Tensor:$input, Xnn_Index:$indices);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "$input `,` $indices attr-dict `:` type($input) `,` type($indices) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

// ---- The host -------------------------------------------------------------------------------------------------------

def Xnn_HostOp : Xnn_Op<"host"> {
  let summary = "A function that the host computes, because the chip has no call for it (libsidra/model/host.h)";
  let arguments = (ins StrAttr:$function, Variadic<Xnn_Tensor>:$inputs, DenseI64ArrayAttr:$parameters);
  let results = (outs Xnn_Tensor:$result);
  let assemblyFormat = "$function `(` $inputs `)` $parameters attr-dict `:` type($inputs) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

// ---- Groups ---------------------------------------------------------------------------------------------------------

def Xnn_YieldOp : Op<Xnn_Dialect, "yield", [Pure, Terminator, ReturnLike, HasParent<"GroupOp">]> {
  let summary = "The results of a group";
  let arguments = (ins Variadic<Xnn_Tensor>:$values);
  let assemblyFormat = "attr-dict $values `:` type($values)";
}

def Xnn_GroupOp : Xnn_Op<"group", [IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Operations that become one call of the chip";
  let arguments = (ins Variadic<Xnn_Tensor>:$inputs);
  let results = (outs Variadic<Xnn_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

#endif
