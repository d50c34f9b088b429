// MachineCode: a kernel as the machine runs it, made by CUDA's own tools in child processes.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/backends/sass/cuda_tools.h"
#include "core/backends/sass/sass_text.h"
#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::replay {

struct MachineCodeRequest {
  std::string kernel;
  std::string_view ptx;     // whole text of its file; empty: there is none
  std::string_view object;  // a cubin that holds it; it is what ran, so it goes first
  std::chrono::milliseconds deadline{60000};  // of each program that is run
};

struct MachineCode {
  std::string target;  // "sm_90a"; empty: not known
  std::string source;  // what it was made of and by: "PTX, assembled by /…/ptxas"
  KernelResources resources;
  std::vector<SassLine> lines;
  bool has_ptx_lines = false;  // of any line
  std::string log;             // what the assembler printed
  std::string note;            // what is missing, and the fix; empty: nothing
};

// Assembles or disassembles one kernel in a folder of its own that is removed again. Unsupported
// without a tool, with the fix; input errors are the assembler's, in full; kCancelled where `stop`
// was requested, kDeadlineExceeded where the deadline passed.
Result<MachineCode> MakeMachineCode(const MachineCodeRequest& request, const CudaTools& tools,
                                    const std::stop_token& stop = {});

// All kernels of a PTX text as a cubin.
struct AssembledCode {
  std::string cubin;
  std::string assembler;                                         // the path of ptxas
  std::vector<std::pair<std::string, KernelResources>> kernels;  // by name, in its order
};
// Errors as of MakeMachineCode.
Result<AssembledCode> AssemblePtx(std::string_view ptx, std::chrono::milliseconds deadline,
                                  const CudaTools& tools, const std::stop_token& stop = {});

// Of a kernel in a dump: of the cubin that defines it, else of its PTX.
Result<MachineCode> MachineCodeIn(const dump::DumpModel& dump, int32_t module,
                                  const dump::Kernel& kernel, const CudaTools& tools,
                                  const std::stop_token& stop = {});
// True where there is something to make it of.
bool MayHaveMachineCode(const dump::DumpModel& dump, int32_t module, const dump::Kernel& kernel);

// "40 registers, 0 bytes spilled, 4.0 KiB shared, 1 barrier"; what is not known is left out.
std::string ResourcesText(const KernelResources& resources);

}  // namespace hloscope::replay
