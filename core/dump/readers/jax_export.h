// What jax.export serialises: a function lowered to StableHLO, with the shapes, platforms and
// devices that it was exported for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/element_type.h"

namespace hloscope::dump {

// The abstract value of an argument or a result.
struct ExportedArray {
  hlo::ElementType type = hlo::ElementType::kInvalid;
  // As JAX prints them: "4", or an expression of dimension variables such as "2*b + 1".
  std::vector<std::string_view> dimensions;
};

// A file as it is; texts are windows into its bytes.
struct JaxExport {
  std::string_view function;
  std::vector<ExportedArray> arrays;         // what the next two lists index
  std::vector<uint32_t> arguments, results;  // flat, in order
  std::vector<uint32_t> kept;  // the arguments that the module takes; JAX drops unused ones
  std::vector<std::string_view> platforms;  // "cpu", "cuda", "rocm", "tpu"
  uint32_t devices = 1;
  uint32_t calling_convention = 0;
  size_t ordered_effects = 0;    // tokens that the module takes before the arguments
  size_t vjp_order = 0;          // how often it can be differentiated
  std::string_view jax_version;  // empty in files from before July 2026
  std::string_view module;       // StableHLO, a portable artifact: MLIR bytecode

  // Where it was exported for several platforms, the module takes the index of one first.
  bool takes_platform() const { return platforms.size() > 1; }
  // Whether a shape of an argument has dimension variables.
  bool is_symbolic() const;
};

// Whether the bytes, which may be the first ones of a file, are those of such a file: its table has
// what they all have, and its module begins as MLIR bytecode does.
bool LooksLikeJaxExport(std::string_view bytes);

// Reads jax/_src/export/serialization.fbs of its versions 1 (Nov 2023) to 11 with the field
// jax_version (July 2026); fields only get added to it. Never reads outside of `bytes`. Input
// errors: a field that leads outside, an unknown element type, an argument that is not there.
Result<JaxExport> ReadJaxExport(std::string_view bytes);

// "f32[2*b + 1,4]".
std::string ToString(const ExportedArray& array);

}  // namespace hloscope::dump
