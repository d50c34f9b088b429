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

// What XLA writes of the kernels of a module on request; empty: nothing, or it is not known for
// which device the module is.
struct CodeForms {
  std::string_view forms;     // "LLVM IR and PTX"
  std::string_view emitters;  // the value of --xla_dump_emitter_re
};
CodeForms CodeFormsOf(const dump::ModuleEntry& module);
// "no code in this dump", and with which flags XLA writes it.
std::string NoCodeText(const dump::ModuleEntry& module);
// The same of one kernel, of a dump that has code of others.
std::string NoKernelCodeText(const dump::ModuleEntry& module);

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
