// Which lines of a kernel's PTX and LLVM IR compute one instruction inside its fusion.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/align/lineage.h"
#include "core/dump/dump_model.h"

namespace hloscope::analysis {

// Why a line of code is said to be an instruction's.
enum class CodeLineReason : uint8_t {
  kDebugInfo,    // `.loc` or `!dbg` names its line of the user's program
  kValueName,    // the value defined there is called as the instruction
  kDerivedName,  // … with words of the emitter behind: "reduce.5.inner"
  kBlockName,    // it stands in a block that is called so
};
std::string_view KeyOf(CodeLineReason reason);     // "debug_info", …
std::string_view Describe(CodeLineReason reason);  // in words

struct CodeLine {
  int32_t line = 0;  // of the file, from 1
  CodeLineReason reason = CodeLineReason::kDebugInfo;
  float confidence = 0;
};

// What is asked of a text: the instruction, and the others that it shares the kernel with.
struct WantedCode {
  std::string_view name;                 // of the instruction
  std::vector<std::string_view> others;  // names of the other instructions of the kernel
  std::vector<SourceLine> frames;        // of the user's program, innermost first
  int32_t sharing = 1;                   // instructions of the kernel with the same innermost frame
};

// How much a text says about where its code comes from.
struct CodeSigns {
  bool debug_info = false;   // it has lines of debug information
  bool value_names = false;  // it has values or blocks that are called as some instruction
};

// The lines of the function at [first_line, last_line] of an LLVM IR text, and of the functions of
// that text that it calls, by line. `signs` says what the text offers for any instruction.
std::vector<CodeLine> FindLlvmLines(std::string_view text, const dump::TextRange& range,
                                    const WantedCode& wanted, CodeSigns& signs);
// The same of a kernel in PTX: debug information, and the names of blocks in comments.
std::vector<CodeLine> FindPtxLines(std::string_view text, const dump::TextRange& range,
                                   const WantedCode& wanted, CodeSigns& signs);

// The lines of an instruction in one file of the dump.
struct InstructionCode {
  int32_t file = -1;
  std::vector<CodeLine> lines;  // empty: `signs` says why
  CodeSigns signs;
};
// In each text of the kernel (PTX, LLVM IR, LLVM IR before LLVM's passes) that can be read. `id` is
// an instruction of the final stage inside a fusion that the kernel computes.
std::vector<InstructionCode> FindInstructionCode(const dump::DumpModel& model,
                                                 const dump::Kernel& kernel,
                                                 const hlo::Module& module, hlo::InstructionId id);

}  // namespace hloscope::analysis
