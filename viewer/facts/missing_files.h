// What a dump lacks, and its files that are not read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/dump_model.h"
#include "viewer/facts/module_facts.h"

namespace hloscope::viewer {

// The pieces that the dump lacks for a module, each once, without those that another file provides:
// a module's proto may hold its buffer assignment.
std::vector<dump::MissingPiece> MissingFor(const dump::DumpModel& dump, int32_t module,
                                           const ModuleFacts* facts);
// Where that is none: a dump is complete, a single module never is.
std::string NothingMissingText(const dump::DumpModel& dump);

// Files that are none of XLA's or its front ends', "meta.json (JSON), notes.txt (other text)";
// empty: none.
std::string UnreadText(const dump::DumpModel& dump);
// A warning says no more than that a file is one of those.
bool IsAboutUnread(const dump::DumpModel& dump, std::string_view warning);

}  // namespace hloscope::viewer
