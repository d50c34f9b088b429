// The origin_recovery_table of a module header: entries {"lost" {index}} : {"kept" {index}}, each
// perhaps with the text of a module that computes one from the other.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/hlo/attribute.h"
#include "core/hlo/text/text.h"

namespace hloscope::hlo {

struct OriginTableEntry {
  OriginalArray lost, kept;
  std::optional<std::string> module;  // HLO text
};

// Of what stands between the braces, sorted by the lost array; of two entries for one array the
// first holds. nullopt where it is no such table. Texts of modules are not looked at.
std::optional<std::vector<OriginTableEntry>> ReadOriginTable(std::string_view table);

// What stands between the braces, with its line breaks. nullopt if a module cannot be read. XLA's
// formats print modules without escapes, so that a quote in one ends the string; kHlo escapes them.
std::optional<std::string> OriginTableText(std::span<const OriginTableEntry> entries,
                                           TextFormat format);

}  // namespace hloscope::hlo
