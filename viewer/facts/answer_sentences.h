// The sentences of answers, made of what was found out; no reading.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/dump/dump_model.h"
#include "viewer/facts/answers.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/facts/pass_ranking.h"

namespace hloscope::viewer {

using Answered = Result<std::shared_ptr<const Answer>>;

Answered Known(std::string text, Selection selection, std::string_view view);
Answered Unknown(std::string text, std::string_view view = {});

// Untrusted names in a sentence.
std::string Named(std::string_view name);
std::string ReadErrorText(const Error& error);
// "in jit_f, id 3: " where the dump has several modules.
std::string InModule(const dump::DumpModel& dump, int32_t module);

// What `of` gives most of, by module; -1: of none.
template <typename F>
int32_t MostOf(const DumpFacts& facts, const F& of) {
  int32_t most = -1;
  for (size_t m = 0; m < facts.modules.size(); ++m) {
    if (facts.modules[m] == nullptr) continue;
    if (most < 0 || of(*facts.modules[m]) > of(*facts.modules[static_cast<size_t>(most)]))
      most = static_cast<int32_t>(m);
  }
  return most;
}

// `outside`: what runs outside the modules, as nodes of TensorFlow; empty: nothing is known to.
Answered HostAnswer(const dump::DumpModel& dump, const DumpFacts& facts,
                    const std::string& outside);
// `borders`: what TensorFlow moves across the boundaries of its clusters; empty: nothing.
Answered TransferAnswer(const dump::DumpModel& dump, const DumpFacts& facts,
                        const std::string& borders);
Answered LargestAnswer(const dump::DumpModel& dump, const DumpFacts& facts);
// `where`: InModule of the module, as below.
Answered PeakAnswer(const dump::BufferTable& table, const std::string& where, int32_t module);
Answered SlowestAnswer(const KernelSheet& sheet, const std::string& where, int32_t module);
Answered PassesAnswer(const PassRanking& ranking, const dump::ModuleEntry& entry, int32_t module);
// `facts` may be null.
Answered MissingAnswer(const dump::DumpModel& dump, int32_t module, const ModuleFacts* facts);

}  // namespace hloscope::viewer
