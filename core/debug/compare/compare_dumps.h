// Comparing all modules of two dumps or more: which are equal, which differ, and in what.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "core/analysis/programs/program_pairs.h"

namespace hloscope::debug {

// How a stage of one dump differs from that of another.
struct StageDifference {
  std::string stage, what;     // "2 changed, first add.1 in main: constant value differs: …"
  std::string text_a, text_b;  // the first instruction that differs, where there is one
};

// "after_optimizations: 2 changed, …", in one line.
std::string ToString(const StageDifference& difference);

// Dumps whose modules of one group are equal.
struct ProgramClass {
  std::vector<int32_t> dumps;
  std::string fingerprint;    // of the compiled stage; empty: it cannot be read
  int64_t instructions = -1;  // of the compiled stage; -1: unknown, as peak_bytes
  int64_t peak_bytes = -1;
  std::vector<StageDifference> differences;  // of the first class from this one
};

struct ComparedModule {
  analysis::ProgramGroup group;
  std::vector<ProgramClass> classes;  // the largest first, at equal size that of the earlier dump
  int64_t elided = 0;                 // constants that were not compared
  bool differs = false, unreadable = false;

  // From the smallest class to the largest; for two dumps from the first to the second. 0 where a
  // side is unknown.
  int64_t growth_of_peak = 0, growth_of_instructions = 0;
};

// All differences of all classes in one line.
std::string DifferencesText(const ComparedModule& module);

// Files of equal programs that have other names or metadata.
struct MetadataChange {
  analysis::ProgramGroup group;
  int32_t dump = 0;         // compared with the first that has the module
  std::string stage, what;  // "metadata of 2 instructions differs, first …"
};

// What a dump itself contradicts, such as a text that is not that of the proto next to it.
struct DumpNote {
  int32_t dump = 0;
  std::string text;
};

struct DumpComparison {
  std::vector<analysis::DumpPrograms> dumps;
  std::vector<ComparedModule> modules;          // all that are in more than one dump and not equal:
                                                // those that differ first, what grew most first
  std::vector<analysis::ProgramGroup> missing;  // in some dumps only
  std::vector<MetadataChange> metadata;         // of modules that are equal
  std::vector<DumpNote> notes;
  int64_t equal = 0;   // modules that are in all dumps and equal
  int64_t elided = 0;  // constants that were not compared where all else is equal
  bool differs = false, unreadable = false;
};

// Reads modules again only where they differ. Error: stopped.
Result<DumpComparison> CompareDumps(std::vector<analysis::DumpPrograms> dumps, const Limits& limits,
                                    int jobs, const std::stop_token& stop = {});

}  // namespace hloscope::debug
