// Redaction of modules: names and unquoted texts in the IR, quoted texts in the printed module,
// which is then read again.
#include "core/debug/bundle/redact_module.h"

#include <fmt/format.h>

#include <tuple>
#include <unordered_set>

#include "core/debug/compare/compare_modules.h"
#include "core/hlo/module_builder.h"
#include "core/hlo/rewrite/copy_module.h"
#include "core/hlo/text/text.h"
#include "core/hlo/text/text_cursor.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::debug {
namespace {

using hlo::Module;
using hlo::ModuleBuilder;
using hlo::StringId;

// Calls `change` with each pool of attribute values of the module that is built.
template <typename Change>
void ChangePools(ModuleBuilder& builder, Change change) {
  ModuleBuilder::TakeParts(
      builder.parts(),
      [&](auto& /*header*/, auto& /*entry*/, auto& /*computations*/, auto& /*instructions*/,
          auto& /*operands*/, auto& /*attributes*/, auto& /*ints*/, auto& /*ids*/, auto& /*shapes*/,
          auto& pools, auto&... /*rest*/) { change(pools); });
}

class IrRedaction {
 public:
  IrRedaction(const Module& module, Redactor& redactor)
      : module_(module), redactor_(redactor), builder_(hlo::CopyModule(module)) {}

  // `drop_raw`: texts kept verbatim go altogether.
  std::shared_ptr<const Module> Run(SourceLines source, bool drop_raw) {
    RenameAll();
    hlo::ModuleHeader& header = builder_.header();
    for (StringId* text : {&header.origin_recovery_table, &header.debug_attributes}) {
      if (text->valid()) *text = drop_raw ? StringId() : Verbatim(*text);
    }
    if (drop_raw) header.unknown.clear();
    for (hlo::RawAttribute& raw : header.unknown) raw.text = Verbatim(raw.text);
    for (hlo::FrontendAttribute& entry : header.frontend_attributes.entries) {
      entry.key = Renamed(entry.key);
    }
    if (source == SourceLines::kDropped) header.stack_frames = {};
    ChangePools(builder_, [&](auto& pools) { ChangeValues(pools, source, drop_raw); });
    return builder_.Build();
  }

 private:
  template <typename Pools>
  void ChangeValues(Pools& pools, SourceLines source, bool drop_raw) {
    for (hlo::RawAttribute& raw : std::get<std::vector<hlo::RawAttribute>>(pools)) {
      raw.text = drop_raw ? builder_.Intern("redacted") : Verbatim(raw.text);
    }
    for (hlo::FrontendAttributes& all : std::get<std::vector<hlo::FrontendAttributes>>(pools)) {
      for (hlo::FrontendAttribute& entry : all.entries) entry.key = Renamed(entry.key);
    }
    for (hlo::Statistics& statistics : std::get<std::vector<hlo::Statistics>>(pools)) {
      for (auto& [name, value] : statistics.values) name = redactor_.Name(name);
    }
    for (hlo::OpMetadata& metadata : std::get<std::vector<hlo::OpMetadata>>(pools)) {
      ChangeMetadata(metadata, source, drop_raw);
    }
  }

  void ChangeMetadata(hlo::OpMetadata& metadata, SourceLines source, bool drop_raw) {
    for (StringId* text : {&metadata.profile_type, &metadata.metadata_payload, &metadata.unknown}) {
      if (text->valid()) *text = drop_raw ? StringId() : Verbatim(*text);
    }
    if (source != SourceLines::kDropped) return;
    metadata.source_file = {};
    metadata.source_line = metadata.source_end_line = 0;
    metadata.source_column = metadata.source_end_column = 0;
    metadata.stack_frame_id = 0;
  }

  void RenameAll() {
    for (size_t i = 0; i < module_.instructions().size(); ++i) {
      taken_.emplace(module_.name(hlo::InstructionId(i)));
    }
    for (size_t i = 0; i < module_.instructions().size(); ++i) {
      StringId& name = builder_.instruction(hlo::InstructionId(i)).name;
      name = RenamedApart(name);
    }
    for (const hlo::Computation& c : module_.computations()) taken_.emplace(module_[c.name]);
    for (size_t i = 0; i < module_.computations().size(); ++i) {
      hlo::Computation& computation = builder_.computation(hlo::ComputationId(i));
      computation.name = RenamedApart(computation.name);
      if (computation.execution_thread.valid()) {
        computation.execution_thread = Renamed(computation.execution_thread);
      }
    }
    builder_.header().name = Renamed(builder_.header().name);
  }

  StringId Renamed(StringId name) {
    const std::string redacted = redactor_.Name(module_[name]);
    return redacted == module_[name] ? name : builder_.Intern(redacted);
  }
  // The same, and no two get one name.
  StringId RenamedApart(StringId name) {
    const std::string redacted = redactor_.Name(module_[name]);
    if (redacted == module_[name]) return name;
    std::string own = redacted;
    for (int n = 1; !taken_.insert(own).second; ++n) own = fmt::format("{}.{}", redacted, n);
    return builder_.Intern(own);
  }
  StringId Verbatim(StringId text) {
    return text.valid() ? builder_.Intern(redactor_.Text(module_[text])) : text;
  }

  const Module& module_;
  Redactor& redactor_;
  ModuleBuilder builder_;
  std::unordered_set<std::string> taken_;
};

// What only protos say about a module as a whole, and what a run depends on.
std::shared_ptr<const Module> WithProtoFacts(const Module& from, std::shared_ptr<const Module> to) {
  const hlo::ModuleHeader& header = from.header();
  if (!header.is_partitioned && !header.spmd_output_sharding) return to;
  ModuleBuilder builder = hlo::CopyModule(*to);
  builder.header().is_partitioned = header.is_partitioned;
  builder.header().spmd_output_sharding = header.spmd_output_sharding;
  if (builder.header().spmd_output_sharding) {
    builder.header().spmd_output_sharding->metadata.clear();
  }
  return builder.Build();
}

// A quoted text from `at` (its first quote) on, quotes included.
std::string_view QuotedAt(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && text[end] != text[at]) end += text[end] == '\\' ? 2 : 1;
  return text.substr(at, std::min(end + 1, text.size()) - at);
}

// True where the quoted text at `at` is the name of a source file: `source_file=`, or a row of the
// table FileNames.
bool NamesFile(std::string_view text, size_t at, bool in_file_names) {
  constexpr std::string_view kKey = "source_file=";
  return in_file_names || text.substr(0, at).ends_with(kKey);
}

// The table that begins before `at`, if a line of its name does.
bool InFileNames(std::string_view between, bool before) {
  if (between.find("\nFileNames\n") != std::string_view::npos) return true;
  return before && between.find("\n\n") == std::string_view::npos;
}

}  // namespace

std::string RedactHloText(std::string_view text, Redactor& redactor) {
  std::string out;
  out.reserve(text.size());
  bool in_file_names = false;
  size_t done = 0;
  for (size_t at = text.find_first_of("\"'"); at != std::string_view::npos;
       at = text.find_first_of("\"'", done)) {
    const std::string_view quoted = QuotedAt(text, at);
    in_file_names = InFileNames(text.substr(done, at - done), in_file_names);
    out += text.substr(done, at + 1 - done);
    done = at + quoted.size();
    if (quoted.size() < 2 || quoted.back() != quoted.front()) {
      out += redactor.Text(quoted.substr(1));
      continue;
    }
    const std::string_view raw = quoted.substr(1, quoted.size() - 2);
    const bool has_escapes = raw.find('\\') != std::string_view::npos;
    const std::string plain =
        has_escapes ? hlo::Unescape(raw).value_or(std::string(raw)) : std::string(raw);
    const std::string redacted =
        NamesFile(text, at, in_file_names) ? redactor.Path(plain) : redactor.Text(plain);
    if (redacted == plain) {
      out += raw;
    } else {
      hlo::AppendEscaped(out, redacted);
    }
    out += quoted.back();
  }
  return out += text.substr(done);
}

Result<RedactedModule> RedactModule(const Module& module, Redactor& redactor, SourceLines source,
                                    const Limits& limits) {
  for (const bool drop_raw : {false, true}) {
    std::string text;
    PrintText(*IrRedaction(module, redactor).Run(source, drop_raw), hlo::TextFormat::kHlo, text);
    RedactedModule out{nullptr, RedactHloText(text, redactor), {}};
    hlo::ParseResult parsed = hlo::ParseText(out.text, limits);
    if (!parsed.ok()) continue;
    const ModuleComparison compared = CompareModules(module, *parsed.module);
    if (!compared.equal) {
      out.notes.push_back(
          fmt::format("redaction changed more than names and metadata: {}",
                      compared.changed.empty() ? "an instruction" : compared.changed.front().what));
    }
    if (drop_raw) out.notes.emplace_back("unknown attributes were left out");
    out.module = WithProtoFacts(module, std::move(parsed.module));
    return out;
  }
  return InternalError("the module cannot be read any more without its secrets");
}

}  // namespace hloscope::debug
