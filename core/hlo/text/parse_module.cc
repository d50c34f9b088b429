// The top level of HLO text: a module, or a single instruction.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/hlo/text/log_prefix.h"
#include "core/hlo/text/name_uniquer.h"
#include "core/hlo/text/text.h"
#include "core/hlo/text/text_parser.h"
#include "core/hlo/text/text_parts.h"

namespace hloscope::hlo {

bool TextParser::Error(Diagnostic diagnostic) {
  diagnostic.severity = Severity::kError;
  const bool is_over_limit = diagnostic.rule == "limit";
  if (!Full()) diagnostics_.push_back(std::move(diagnostic));
  is_over_limit_ |= is_over_limit;
  ++error_count_;
  return false;
}

bool TextParser::OverLimit(std::string_view what, int64_t limit, std::string_view name,
                           uint64_t offset) {
  return Error("limit", OverLimitText(what, limit), offset,
               "raise it with --limit " + std::string(name) + "=N");
}

bool TextParser::Error(std::string_view rule, std::string message, uint64_t offset,
                       std::string hint) {
  return Error(TextCursor::Fail(rule, std::move(message), offset, std::move(hint)));
}

void TextParser::Warn(std::string_view rule, std::string message, uint64_t offset,
                      std::string hint) {
  if (warning_count_ >= static_cast<size_t>(limits_.diagnostics)) return;
  ++warning_count_;
  diagnostics_.push_back(
      {Severity::kWarning, std::string(rule), std::move(message), std::move(hint), offset});
}

std::string TextParser::LineOf(uint64_t offset) {
  if (lines_ == nullptr) lines_ = std::make_unique<LineIndex>(cursor_.text());
  return std::to_string(lines_->PlaceOf(offset, "").line);
}

// True if the text is a module: it begins with HloModule or ENTRY, or with the head of a
// computation, `name {` or `name (`…`) ->`.
bool TextParser::LooksLikeModule() {
  const char* start = cursor_.position();
  bool module = false;
  std::string_view word = cursor_.ReadName();
  if (word == "HloModule" || word == "ENTRY" || word == "FileNames") {
    module = true;
  } else if (!word.empty()) {
    if (cursor_.Peek() == '(' && cursor_.ReadGroup()) {
      module = cursor_.Consume("->");
    } else {
      module = cursor_.Peek() == '{';
    }
  }
  cursor_.set_position(start);
  return module;
}

// Capacity from the number of lines, sampled: growing would copy and leave half unused.
void TextParser::ReserveFromText() {
  std::string_view text = cursor_.text();
  std::string_view sample = text.substr(0, std::min<size_t>(text.size(), 1 << 16));
  auto lines = static_cast<size_t>(std::count(sample.begin(), sample.end(), '\n'));
  if (lines < 64) return;
  builder_.Reserve(text.size() / sample.size() * lines + lines);
}

ParseResult TextParser::Run() {
  ReserveFromText();
  cursor_.Consume(kByteOrderMark);
  cursor_.SkipSpace();
  bool ok = false;
  if (cursor_.AtEnd()) {
    Error("syntax", "the text is empty, expected an HLO module", cursor_.offset());
  } else {
    ok = LooksLikeModule() ? ParseModule() : ParseSingleInstruction();
  }
  ParseResult result;
  if (ok && error_count_ == 0 && FinishModule() && error_count_ == 0) {
    result.module = builder_.Build();
  }
  std::stable_sort(diagnostics_.begin(), diagnostics_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.offset < b.offset; });
  result.diagnostics = std::move(diagnostics_);
  return result;
}

bool TextParser::ParseModule() {
  if (cursor_.ConsumeWord("HloModule")) {
    has_header_ = true;
    if (!ParseHeader()) RecoverComputation();
  }
  if (!ParseStackFrames()) RecoverComputation();
  if (cursor_.AtEnd() && error_count_ == 0) {
    return Error("syntax", "the module has no computation, expected at least one",
                 cursor_.offset());
  }
  while (!cursor_.AtEnd() && !Full()) {
    if (!ParseComputation()) RecoverComputation();
  }
  return error_count_ == 0;
}

// `f32[2] add(f32[2] a, f32[2] b)`, with or without a name: the root of a computation whose
// parameters are the operands. XLA calls module, computation and a nameless instruction `_`.
bool TextParser::ParseSingleInstruction() {
  StringId underscore = builder_.Intern("_");
  Scope& only = OpenScope();
  only.makes_parameters = true;
  if (AtShape()) {
    auto offset = static_cast<uint32_t>(cursor_.offset());
    uint32_t index = ParseRhs("_", offset, true);
    if (index == kNone) return false;
    only.root = index;
  } else {
    if (!ParseInstruction()) return false;
    only.root = static_cast<uint32_t>(only.instructions.size() - 1);
  }
  if (!cursor_.AtEnd()) {
    return Error("syntax", "expected the end of the text after a single instruction",
                 cursor_.offset(), "a module begins with `HloModule name`");
  }
  if (!CheckParameters(only) || error_count_ != 0) return false;
  entry_ = CloseScope(underscore);
  builder_.header().name = underscore;
  builder_.header().is_scheduled = true;
  has_header_ = true;
  return true;
}

bool TextParser::FinishModule() {
  // Those that short forms stand for are there now.
  const Module& m = builder_.module();
  if (std::cmp_greater(m.computations().size(), limits_.computations)) {
    return OverLimit("computations", limits_.computations, "computations", 0);
  }
  if (std::cmp_greater(m.instructions().size(), limits_.instructions)) {
    return OverLimit("instructions", limits_.instructions, "instructions", 0);
  }
  if (!entry_.valid()) {
    entry_ = ComputationId(builder_.module().computations().size() - 1);
  }
  builder_.SetEntry(entry_);
  if (!has_header_) {
    std::string name =
        "module_" + std::string(builder_.module()[builder_.computation(entry_).name]);
    builder_.header().name = builder_.Intern(name);
  }
  if (NamesClash()) MakeNamesUnique();
  return CheckAliases();
}

// Every aliased output must be part of the result of the entry computation.
bool TextParser::CheckAliases() {
  const Module& m = builder_.module();
  const Computation& entry = m[entry_];
  size_t at = 0;
  for (const InputOutputAlias& alias : m.header().input_output_alias) {
    uint64_t offset = alias_offsets_[at++];
    const Shape* shape = &m.shape(entry.root);
    for (int64_t index : alias.output_index) {
      if (!shape->IsTuple() || index < 0 ||
          static_cast<size_t>(index) >= shape->elements().size()) {
        return Error(
            "alias",
            "the aliased output is not part of the result " + ToString(m.shape(entry.root), false),
            offset);
      }
      shape = &shape->elements()[static_cast<size_t>(index)];
    }
  }
  return true;
}

// Remembers names whose end can make them clash with others.
void TextParser::NoteSuffix(StringId name) {
  NameUniquer::Suffix suffix = NameUniquer::SuffixOf(builder_.module()[name]);
  if (suffix == NameUniquer::Suffix::kOdd) names_clash_ = true;
  if (suffix == NameUniquer::Suffix::kZero) zero_names_.push_back(name);
}

// x.0 clashes with x.
bool TextParser::NamesClash() {
  for (StringId name : zero_names_) {
    if (names_clash_) break;
    std::string_view text = builder_.module()[name];
    StringId root = builder_.module().strings().Find(text.substr(0, text.size() - 2));
    if (!root.valid()) continue;
    bool computation = root.index < computations_.size() && computations_[root.index].known;
    names_clash_ = computation || SymbolOf(root).scope != 0;
  }
  return names_clash_;
}

// Names need be unique in their computation only, but a module keeps them unique as a whole; the
// new names are those XLA gives.
void TextParser::MakeNamesUnique() {
  NameUniquer instructions, computations;
  auto count = static_cast<uint32_t>(builder_.module().computations().size());
  for (uint32_t c = 0; c < count; ++c) {
    Computation& computation = builder_.computation(ComputationId(c));
    computation.name = builder_.Intern(computations.Unique(builder_.module()[computation.name]));
    for (uint32_t k = 0; k < computation.instruction_count; ++k) {
      Instruction& i = builder_.instruction(InstructionId(computation.first_instruction + k));
      i.name = builder_.Intern(instructions.Unique(builder_.module()[i.name]));
    }
  }
}

ParseResult ParseText(std::string_view text, const Limits& limits) {
  if (std::optional<std::string> clean = BlankLogPrefixes(text)) {
    return TextParser(*clean, limits).Run();
  }
  return TextParser(text, limits).Run();
}

}  // namespace hloscope::hlo
