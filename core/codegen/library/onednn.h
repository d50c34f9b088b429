// What calls of oneDNN share: the processor, one thread, and errors in our own form.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/codegen/library/convolution_form.h"
#include "core/hlo/module.h"

namespace hloscope::codegen {

// The processor as oneDNN sees it. From here on the calling thread gives oneDNN no other threads:
// grains are shared out by us, so that bits do not depend on how many there are.
const dnnl::engine& OneDnnEngine();

// The element types of two operands and the result of an instruction, and their bytes.
struct ElementTypes {
  std::array<dnnl::memory::data_type, 3> types;
  std::array<int64_t, 3> bytes;
};
ElementTypes ElementTypesOf(const hlo::Module& module, hlo::InstructionId id);

// An array of f32 or bf16 as it lies, and in the order that oneDNN likes best.
dnnl::memory::desc FormOf(const ArrayForm& array);
dnnl::memory::desc AnyFormOf(const ArrayForm& array);

// Calls `make`; what oneDNN throws becomes an unsupported error: it has no code for that here.
Status MakeWithOneDnn(const std::function<void()>& make);

// An argument of a primitive: what it is, how it lies and where.
struct OneDnnArgument {
  int what;
  const dnnl::memory::desc* form;
  const std::byte* address;
};

// That many bytes of a thread's own memory, which grows, aligned to a cache line.
std::byte* Room(std::vector<std::byte>& memory, size_t bytes);

// Runs a primitive on the calling thread, with memory of the thread's own of `scratch_bytes`.
Status RunOneDnn(const dnnl::primitive& primitive, const dnnl::memory::desc& scratch,
                 std::span<const OneDnnArgument> arguments);

}  // namespace hloscope::codegen
