// KernelCase: the kernels of one instruction with all they need: code, launches and the bytes of
// their arguments. It runs by itself, here or elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/backends/gpusim/loaded_program.h"
#include "core/base/byte_archive.h"
#include "core/hlo/literal.h"
#include "core/ptx/ptx.h"
#include "core/ptx/tensor/tensor_map.h"

namespace hloscope::ptx {

template <typename A>
void Archive(A& a, Archived<A, TensorMap>& v) {
  a(v.element_bytes, v.sizes, v.strides, v.box, v.steps, v.swizzle);
}

}  // namespace hloscope::ptx

namespace hloscope::replay {

// Bytes of one region of the case's memory.
struct CaseSlice {
  uint64_t region = 0, offset = 0, bytes = 0;
};

struct CaseLaunch {
  uint64_t code = 0;  // position in KernelCase::code
  std::string kernel;
  std::array<uint32_t, 3> blocks{1, 1, 1}, threads{1, 1, 1};
  uint64_t shared_bytes = 0;
  std::vector<CaseSlice> arguments;
  std::vector<std::optional<ptx::TensorMap>> maps = {};  // by argument; empty: none takes one
};

struct CaseCode {
  std::string file, text;
};

using CaseMemory = std::vector<std::vector<std::byte>>;  // by region

struct KernelCase {
  std::string instruction;
  std::vector<CaseCode> code;
  std::vector<CaseLaunch> launches;                     // in order, behind `copies`
  std::vector<std::pair<CaseSlice, CaseSlice>> copies;  // from, to
  CaseMemory memory;                                    // as it is before
  std::vector<CaseSlice> operands, results;             // the arrays of all of them
};

template <typename A>
void Archive(A& a, Archived<A, CaseLaunch>& v) {
  a(v.code, v.kernel, v.blocks, v.threads, v.shared_bytes, v.arguments, v.maps);
}
template <typename A>
void Archive(A& a, Archived<A, CaseCode>& v) {
  a(v.file, v.text);
}
template <typename A>
void Archive(A& a, Archived<A, KernelCase>& v) {
  a(v.instruction, v.code, v.launches, v.copies, v.memory, v.operands, v.results);
}

// The case of a step that kernels compute, on the arrays of its operands in order. What is no
// operand is 0xff, as nobody has written it. Errors: those of pjrt::ToDeviceBytes.
Result<KernelCase> MakeKernelCase(const LoadedProgram& loaded, const DeviceStep& step,
                                  std::span<const hlo::Literal> operands);

// Its modules, decoded. Errors: those of ptx::Module::Parse; input for slices beyond its memory.
Result<std::vector<ptx::Module>> LoadKernelCase(const KernelCase& kernels);

// One of its launches over `memory`, which must outlive it.
ptx::LaunchRequest RequestOf(const KernelCase& kernels, const CaseLaunch& launch,
                             CaseMemory& memory);

// Does the copies.
void BeginKernelCase(const KernelCase& kernels, CaseMemory& memory);

// The memory behind all launches. Errors: those of Launch; a fault.
Result<CaseMemory> RunKernelCase(const KernelCase& kernels, const std::vector<ptx::Module>& code,
                                 const ptx::LaunchOptions& options = {});

}  // namespace hloscope::replay
