// What the code of a kernel says beyond its texts: which of its lines compute the selected
// instruction, and its machine code, which is made in a child process on request.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/debug/explain/kernels/machine_code.h"
#include "core/dump/dump_model.h"
#include "viewer/model/anchor.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"
#include "viewer/model/text_document.h"

namespace hloscope::viewer {

// What the flags of a dump write of the kernels of a module.
inline std::string_view CodeFormsOf(const dump::ModuleEntry& module) {
  return module.device == "cpu" ? "LLVM IR" : "LLVM IR and PTX";
}

// By file of the dump, lines counted from 0; a file without lines of the instruction has none.
struct CodeLines {
  std::map<int32_t, std::set<int64_t>> lines;
};
// Of the selected instruction where it is only a part of what the kernel computes; null where it is
// all of it, or nothing of the kind is selected.
const Pending<CodeLines>* CodeLinesOf(Context& context, int32_t module, int32_t kernel);

/// Kernels whose machine code was asked for, by name.
struct AskedMachineCode {
  std::set<std::pair<ModuleAnchor, std::string>> kernels;
};

struct MachineCodeText {
  debug::MachineCode code;
  std::shared_ptr<const TextDocument> text;  // null: no tool that prints it
  std::vector<int32_t> ptx_lines;            // by line of the text, counted from 1; 0: not known
};
// Null: it was not requested.
const Pending<MachineCodeText>* MachineCodeOf(Context& context, int32_t module, int32_t kernel);
// Makes it, also once more where that failed.
void AskMachineCode(Context& context, int32_t module, int32_t kernel);

}  // namespace hloscope::viewer
