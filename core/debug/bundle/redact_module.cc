// Redaction of modules: names and unquoted texts in the IR, quoted texts in the printed module,
// which is then read again.
#include "core/debug/bundle/redact_module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include "core/analysis/align/compare_modules.h"
#include "core/base/counted.h"
#include "core/base/progress/activity.h"
#include "core/debug/bundle/payload.h"
#include "core/hlo/module_builder.h"
#include "core/hlo/rewrite/copy_module.h"
#include "core/hlo/text/text.h"
#include "core/hlo/text/text_cursor.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
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

// Frontend attributes that XLA, Shardy and frameworks read.
bool IsReadFrontendAttribute(std::string_view key) {
  constexpr std::string_view kPrefixes[] = {"_",          "xla", "mhlo.", "sdy.",
                                            "composite.", "is_", "has_",  "jax."};
  constexpr std::string_view kKeys[] = {
      "inlineable",     "must_fuse",    "MUST_FUSE", "kernel_metadata", "async_collective_name",
      "num_partitions", "num_replicas", "grad_x",    "grad_y",          "combine_threshold"};
  return std::ranges::any_of(kPrefixes, [&](auto prefix) { return key.starts_with(prefix); }) ||
         std::ranges::find(kKeys, key) != std::end(kKeys);
}

class IrRedaction {
 public:
  // `drop_raw`: texts kept verbatim go altogether.
  IrRedaction(const Module& module, Redactor& redactor, RedactionOptions options, bool drop_raw)
      : module_(module),
        redactor_(redactor),
        options_(options),
        drop_raw_(drop_raw),
        builder_(hlo::CopyModule(module)) {}

  std::shared_ptr<const Module> Run() {
    RenameAll();
    hlo::ModuleHeader& header = builder_.header();
    for (StringId* text : {&header.origin_recovery_table, &header.debug_attributes}) {
      if (text->valid()) *text = drop_raw_ ? StringId() : Verbatim(*text);
    }
    if (drop_raw_) header.unknown.clear();
    for (hlo::RawAttribute& raw : header.unknown) ChangeRaw(raw);
    ChangeFrontend(header.frontend_attributes);
    if (options_.source == SourceLines::kDropped) header.stack_frames = {};
    NamePayloads();
    ChangePools(builder_, [&](auto& pools) { ChangeValues(pools); });
    return builder_.Build();
  }

  // What was replaced or left out that a run might read.
  std::vector<std::string> notes() const {
    std::vector<std::string> out;
    if (!replaced_.empty()) {
      out.push_back(fmt::format(
          "payloads were replaced, without which a platform that reads them cannot replay: {}",
          fmt::join(replaced_, ", ")));
    }
    if (left_out_ > 0) {
      out.push_back(fmt::format("{} that neither XLA nor a framework reads left out",
                                Counted(left_out_, "frontend attribute")));
    }
    return out;
  }

 private:
  template <typename Pools>
  void ChangeValues(Pools& pools) {
    for (hlo::RawAttribute& raw : std::get<std::vector<hlo::RawAttribute>>(pools)) {
      drop_raw_ ? void(raw.text = builder_.Intern("redacted")) : ChangeRaw(raw);
    }
    for (hlo::BackendConfig& config : std::get<std::vector<hlo::BackendConfig>>(pools)) {
      ChangePayload(config.text, config.json, "backend_config");
    }
    for (hlo::FrontendAttributes& all : std::get<std::vector<hlo::FrontendAttributes>>(pools)) {
      ChangeFrontend(all);
    }
    for (hlo::Statistics& statistics : std::get<std::vector<hlo::Statistics>>(pools)) {
      for (auto& [name, value] : statistics.values) name = redactor_.Name(name);
    }
    for (hlo::OpMetadata& metadata : std::get<std::vector<hlo::OpMetadata>>(pools)) {
      ChangeMetadata(metadata);
    }
  }

  // Targets of the custom calls that have each payload, for the notes.
  void NamePayloads() {
    for (const hlo::Instruction& i : module_.instructions()) {
      const auto* config = module_.Get<hlo::BackendConfig>(i, AttributeKey::kBackendConfig);
      if (config != nullptr) owners_.try_emplace(config->text, module_[i.name]);
    }
  }

  // Kept or replaced as a whole.
  void ChangePayload(StringId& text, bool& json, std::string_view what) {
    if (!text.valid() || !PayloadHasSecret(module_[text], redactor_)) return;
    redactor_.CountPayload();
    const auto owner = owners_.find(text);
    replaced_.insert(redactor_.Name(owner == owners_.end() ? what : owner->second));
    text = builder_.Intern(PayloadStandIn(module_[text]));
    json = false;
  }

  void ChangeRaw(hlo::RawAttribute& raw) {
    if (!PayloadHasSecret(module_[raw.text], redactor_)) return;
    redactor_.CountPayload();
    replaced_.insert(redactor_.Name(module_[raw.name]));
    raw.text = builder_.Intern("\"" + PayloadStandIn(module_[raw.text]) + "\"");
  }

  void ChangeFrontend(hlo::FrontendAttributes& all) {
    if (options_.text == FreeText::kNeeded) {
      left_out_ += static_cast<int64_t>(std::erase_if(all.entries, [&](const auto& entry) {
        return !IsReadFrontendAttribute(module_[entry.key]);
      }));
    }
    for (hlo::FrontendAttribute& entry : all.entries) {
      const std::string_view key = module_[entry.key];
      ChangePayload(entry.value, entry.json, key);
      entry.key = Renamed(entry.key);
    }
  }

  void ChangeMetadata(hlo::OpMetadata& metadata) {
    for (StringId* text : {&metadata.profile_type, &metadata.metadata_payload, &metadata.unknown}) {
      if (text->valid()) *text = drop_raw_ ? StringId() : Verbatim(*text);
    }
    if (options_.text == FreeText::kNeeded && metadata.op_name.valid()) {
      // The scopes are the program's; the last part is the operation.
      const std::string redacted = redactor_.Text(module_[metadata.op_name]);
      metadata.op_name = builder_.Intern(redacted.substr(redacted.rfind('/') + 1));
    }
    if (options_.source != SourceLines::kDropped) return;
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
  RedactionOptions options_;
  bool drop_raw_;
  ModuleBuilder builder_;
  std::map<StringId, std::string_view> owners_;  // of payloads: names of instructions
  std::set<std::string> replaced_;
  int64_t left_out_ = 0;
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

// Where the value of the first payload attribute that begins in `text` begins; 0: there is none.
size_t PayloadIn(std::string_view text) {
  size_t first = 0;
  for (const std::string_view key : {"backend_config=", "frontend_attributes="}) {
    for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
      const size_t value = at + key.size();
      const bool is_name = at > 0 && text[at - 1] != ' ' && text[at - 1] != ',';
      if (is_name || value >= text.size() || (first != 0 && first < value)) continue;
      first = value;
      break;
    }
  }
  return first;
}

// The end of a value in quotes or braces that begins at `at`.
size_t ValueEnd(std::string_view text, size_t at) {
  if (text[at] != '{') return at + QuotedAt(text, at).size();
  int64_t depth = 0;
  while (at < text.size()) {
    if (text[at] == '"') {
      at += QuotedAt(text, at).size();
      continue;
    }
    depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    ++at;
    if (depth == 0) break;
  }
  return at;
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
    if (const size_t payload = PayloadIn(text.substr(done, at + 1 - done)); payload != 0) {
      const size_t end = ValueEnd(text, done + payload);
      out += text.substr(done, end - done);
      done = end;
      continue;
    }
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

Result<RedactedModule> RedactModule(const Module& module, Redactor& redactor,
                                    RedactionOptions options, const Limits& limits) {
  const Activity activity("redacting", module.name());
  for (const bool drop_raw : {false, true}) {
    IrRedaction redaction(module, redactor, options, drop_raw);
    const std::shared_ptr<const Module> renamed = redaction.Run();
    if (redactor.is_stopped()) break;
    std::string text;
    PrintText(*renamed, hlo::TextFormat::kHlo, text);
    RedactedModule out{nullptr, RedactHloText(text, redactor), redaction.notes()};
    if (redactor.is_stopped()) break;
    hlo::ParseResult parsed = hlo::ParseText(out.text, limits);
    if (!parsed.ok()) continue;
    const analysis::ModuleComparison compared = analysis::CompareModules(*renamed, *parsed.module);
    if (!compared.equal) {
      // What stands after the colon are values, which may be secrets.
      const std::string what = compared.changed.empty() ? "" : compared.changed.front().what;
      out.notes.push_back(
          fmt::format("redaction changed more than names and metadata: {}",
                      what.empty() ? "an instruction" : what.substr(0, what.find(':'))));
    }
    if (drop_raw) out.notes.emplace_back("unknown attributes were left out");
    out.module = WithProtoFacts(module, std::move(parsed.module));
    return out;
  }
  if (redactor.is_stopped())
    return std::unexpected(Error{ErrorClass::kCancelled, "stopped", {}, {}});
  return InternalError("the module cannot be read any more without its secrets");
}

}  // namespace hloscope::debug
