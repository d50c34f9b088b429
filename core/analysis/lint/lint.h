// Lint: patterns in a module that are known to cost time, memory or precision (lint_rules.def).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::analysis {

enum class LintSeverity : uint8_t { kInfo, kWarning, kError };
std::string_view ToString(LintSeverity severity);
// The severity of that name; absent where there is none.
std::optional<LintSeverity> LintSeverityNamed(std::string_view name);

enum class LintStage : uint8_t { kGiven, kCompiled, kEither };

enum class LintKind : uint8_t {
#define LINT_RULE(kind, ...) kind,
#include "core/analysis/lint/lint_rules.def"
#undef LINT_RULE
};
struct LintRule {
  LintKind kind;
  std::string_view name;
  LintSeverity severity;
  LintStage stage;
  std::string_view pattern, fix;
};
std::span<const LintRule> LintRules();
const LintRule& RuleOf(LintKind kind);

struct LintFinding {
  LintKind kind;
  std::string instruction = {};  // empty: none is known
  std::string source = {};       // line of the program, or empty
  std::string cost = {};         // "4.0 MiB read and written"
  int64_t cost_bytes = 0;    // what is copied, stored or left unused in one run; 0: not in bytes
  int64_t places = 1;        // with the same rule and source line; the costs are the sum
  std::string own_fix = {};  // in place of the rule's; empty: that one
};
// Of what was found there.
std::string_view FixOf(const LintFinding& finding);

// Whether passes have run over the module: it is scheduled or has fusions.
bool IsCompiled(const hlo::Module& module);

// What the rules for the stage of this module find, in order of the table, then of cost; places of
// one source line are one finding. `compiled` is what a given module became, where that is known:
// rules of kEither are left to it, and it shows what the passes removed.
std::vector<LintFinding> Lint(const hlo::Module& module, const hlo::Module* compiled = nullptr);

// Donations that JAX refused when it lowered a program, by its warnings in a log.
std::vector<LintFinding> LintLog(std::string_view log);

}  // namespace hloscope::analysis
