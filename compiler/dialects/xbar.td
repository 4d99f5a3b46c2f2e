// SPDX-License-Identifier: MIT
// The dialect `xbar`: a network as calls of the chip on memory. The calls of a block run in order. What a call reads and
// writes is an array (#xbar.array): a place in one of its buffers, with strides in bytes.
#ifndef SIDRA_COMPILER_XBAR_TD
#define SIDRA_COMPILER_XBAR_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Xbar_Dialect : Dialect {
  let name = "xbar";
  let cppNamespace = "::sidra::xbar";
  let summary = "Calls of the chip on memory";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

class Xbar_Op<string mnemonic, list<Trait> traits = []> : Op<Xbar_Dialect, mnemonic, traits>;

// ---- Memory and weights ---------------------------------------------------------------------------------------------

def Xbar_Buffer : TypeDef<Xbar_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "So many bytes of memory";
  let parameters = (ins "uint64_t":$size);
  let assemblyFormat = "`<` $size `>`";
}

def Xbar_Matrix : TypeDef<Xbar_Dialect, "Matrix"> {
  let mnemonic = "matrix";
  let summary = "Weights on crossbars: inputs x outputs";
  let parameters = (ins "uint32_t":$rows, "uint32_t":$columns);
  let assemblyFormat = "`<` $rows `x` $columns `>`";
}

def Xbar_AllocOp : Xbar_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Memory of a run. `offset`: its place among all of it, once it is planned";
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Xbar_Buffer:$result);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($result)";
}

def Xbar_ConstantOp : Xbar_Op<"constant", [Pure]> {
  let summary = "Memory with the bytes that the store has under a hash";
  let arguments = (ins StrAttr:$hash);
  let results = (outs Xbar_Buffer:$result);
  let assemblyFormat = "$hash attr-dict `:` type($result)";
}

def Xbar_WeightsOp : Xbar_Op<"weights", [Pure]> {
  let summary = "A matrix with the bytes (s8) that the store has under a hash. Each copy has crossbars of its own";
  let description = "`crossbars`: of its tiles, row-major, once it is placed.";
  let arguments = (ins StrAttr:$name, StrAttr:$hash, DefaultValuedAttr<I32Attr, "0">:$copy,
                       OptionalAttr<DenseI32ArrayAttr>:$crossbars);
  let results = (outs Xbar_Matrix:$result);
  let assemblyFormat = "$name $hash (`copy` $copy^)? (`on` $crossbars^)? attr-dict `:` type($result)";
}

// ---- Arrays ---------------------------------------------------------------------------------------------------------

def Xbar_Array : AttrDef<Xbar_Dialect, "Array"> {
  let mnemonic = "array";
  let summary = "An operand of a call: struct sidra_vector_operand of libsidra";
  let description = [{
    Element 0 is `offset` bytes behind the beginning of buffer number `buffer` of the call. With `index`, the number of
    a buffer, the rows are at the indices that lie there; `extent` is then the number of valid ones.
  }];
  let parameters = (ins "uint32_t":$buffer, "uint64_t":$offset, "::mlir::Type":$type,
                        ArrayRefParameter<"uint64_t", "bytes, in four dimensions">:$strides,
                        DefaultValuedParameter<"uint32_t", "0">:$extent,
                        DefaultValuedParameter<"int64_t", "-1">:$index, DefaultValuedParameter<"uint64_t", "0">:$index_offset,
                        DefaultValuedParameter<"::mlir::Type", "::mlir::Type()">:$index_type);
  let assemblyFormat = [{
    `<` $buffer `+` $offset `,` $type `,` `[` $strides `]` (`,` `extent` `=` $extent^)?
    (`,` `index` `=` $index^ `+` $index_offset `,` $index_type)? `>`
  }];
}
def Xbar_Arrays : TypedArrayAttrBase<Xbar_Array, "arrays">;

def Xbar_Windows : AttrDef<Xbar_Dialect, "Windows"> {
  let mnemonic = "windows";
  let summary = "Windows of images in a buffer of the call: struct sidra_windows of libsidra";
  let parameters = (ins "uint32_t":$buffer, "uint64_t":$offset, "::mlir::Type":$type,
                        ArrayRefParameter<"uint32_t", "images, rows, columns">:$count,
                        ArrayRefParameter<"uint32_t", "height, width, channels">:$image,
                        ArrayRefParameter<"uint32_t">:$kernel, ArrayRefParameter<"uint32_t">:$stride,
                        ArrayRefParameter<"uint32_t">:$pad, ArrayRefParameter<"uint32_t">:$dilation,
                        ArrayRefParameter<"uint64_t", "bytes between images, rows and pixels">:$bytes,
                        DefaultValuedParameter<"uint32_t", "0">:$zero);
  let assemblyFormat = [{
    `<` $buffer `+` $offset `,` $type `,` `[` $count `]` `,` `image` `=` `[` $image `]` `,` `kernel` `=` `[` $kernel `]`
    `,` `stride` `=` `[` $stride `]` `,` `pad` `=` `[` $pad `]` `,` `dilation` `=` `[` $dilation `]` `,`
    `bytes` `=` `[` $bytes `]` (`,` `zero` `=` $zero^)? `>`
  }];
}

// ---- Calls ----------------------------------------------------------------------------------------------------------

// The text of a vector program, one line for each instruction (docs/vector-programs.md).
def Xbar_Program : TypedArrayAttrBase<StrAttr, "lines of a vector program">;

def Xbar_VectorOp : Xbar_Op<"vector"> {
  let summary = "A vector program on size[0] x size[1] x size[2] rows of size[3] columns";
  let arguments = (ins Variadic<Xbar_Buffer>:$buffers, DenseI64ArrayAttr:$size, Xbar_Program:$program,
                       Xbar_Arrays:$arrays);
  let assemblyFormat = "$size `(` $buffers `)` `arrays` $arrays `program` $program attr-dict `:` type($buffers)";
  let hasVerifier = 1;
}

def Xbar_LayerOp : Xbar_Op<"layer"> {
  let summary = "Windows times weights on crossbars, with a program before and after";
  let arguments = (ins Xbar_Matrix:$weights, Variadic<Xbar_Buffer>:$buffers, Xbar_Windows:$windows,
                       Xbar_Program:$program, Xbar_Arrays:$arrays);
  let assemblyFormat = [{
    $weights `(` $buffers `)` $windows `arrays` $arrays `program` $program attr-dict `:` type($weights) `,`
    type($buffers)
  }];
  let hasVerifier = 1;
}

def Xbar_MatmulOp : Xbar_Op<"matmul"> {
  let summary = "Products of matrices in memory, arrays 0 and 1, with a program after them: batch x batch of m x n, k inside";
  let arguments = (ins Variadic<Xbar_Buffer>:$buffers, DenseI64ArrayAttr:$size, Xbar_Program:$program,
                       Xbar_Arrays:$arrays);
  let assemblyFormat = "$size `(` $buffers `)` `arrays` $arrays `program` $program attr-dict `:` type($buffers)";
  let hasVerifier = 1;
}

def Xbar_Pooling : I32EnumAttr<"Pooling", "what combines the pixels of a window", [
    I32EnumAttrCase<"max", 1>, I32EnumAttrCase<"argmax", 2>, I32EnumAttrCase<"average", 3>,
    I32EnumAttrCase<"average_all", 4>]> {
  let cppNamespace = "::sidra::xbar";
}

def Xbar_PoolOp : Xbar_Op<"pool"> {
  let summary = "Combines the pixels of each window, for each channel";
  let description = "The output begins `offset` bytes behind the beginning of the last buffer, and has these strides in bytes.";
  let arguments = (ins Xbar_Pooling:$function, Variadic<Xbar_Buffer>:$buffers, Xbar_Windows:$windows, I64Attr:$offset,
                       DenseI64ArrayAttr:$strides);
  let assemblyFormat = [{
    $function `(` $buffers `)` $windows `to` $offset $strides attr-dict `:` type($buffers)
  }];
  let hasVerifier = 1;
}

def Xbar_SortOp : Xbar_Op<"sort"> {
  let summary = "The first `count` elements of each row in order, and their columns (s64): from a buffer, to two others";
  let arguments = (ins Xbar_Buffer:$input, Xbar_Buffer:$values, Xbar_Buffer:$indices, I64Attr:$offset, TypeAttr:$type,
                       I64Attr:$rows, I64Attr:$columns, I64Attr:$count, I64Attr:$stride, UnitAttr:$descending);
  let assemblyFormat = [{
    (`descending` $descending^)? $input `+` $offset `,` $values `,` $indices `of` $type `[` $rows `x` $columns `]`
    `count` $count `stride` $stride attr-dict `:` type($input) `,` type($values) `,` type($indices)
  }];
  let hasVerifier = 1;
}

// ---- The host -------------------------------------------------------------------------------------------------------

def Xbar_HostOp : Xbar_Op<"host"> {
  let summary = "A function that the host computes (libsidra/model/host.h)";
  let description = [{
    The inputs are dense arrays of `types` that begin `offsets` bytes behind the beginning of their buffers, and the
    output is one of `type` at the beginning of its buffer.
  }];
  let arguments = (ins StrAttr:$function, Variadic<Xbar_Buffer>:$inputs, Xbar_Buffer:$output,
                       DenseI64ArrayAttr:$offsets, TypeArrayAttr:$types, TypeAttr:$type, DenseI64ArrayAttr:$parameters);
  let assemblyFormat = [{
    $function `(` $inputs `)` $offsets $types `to` $output $type `parameters` $parameters attr-dict `:` type($inputs)
    `to` type($output)
  }];
  let hasVerifier = 1;
}

#endif
