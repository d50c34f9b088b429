#include "core/debug/run/run_ptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/backends/gpusim/run_checks.h"
#include "core/base/counted.h"
#include "core/base/file.h"
#include "core/base/jobs.h"
#include "core/debug/run/ptx_arguments.h"
#include "core/dump/tensors/tensor_values.h"

namespace hloscope::debug {
namespace {

class PtxFindings : public replay::RunStream {
 public:
  explicit PtxFindings(PtxRunReport& report) : report_(report) {}
  void Take(replay::RunEvent event) override {
    if (auto* const finding = std::get_if<replay::RunFinding>(&event))
      report_.findings.push_back(std::move(*finding));
    if (auto* const warning = std::get_if<replay::RunWarning>(&event))
      report_.warnings.push_back(std::move(warning->text));
  }

 private:
  PtxRunReport& report_;
};

Result<const ptx::EntryInfo*> PtxEntryOf(const ptx::Module& module, const std::string& name) {
  const auto& entries = module.entries();
  const auto found = name.empty() && entries.size() == 1
                         ? entries.begin()
                         : std::ranges::find(entries, name, &ptx::EntryInfo::name);
  if (found != entries.end()) return &*found;
  std::string names;
  for (const ptx::EntryInfo& entry : entries) names += (names.empty() ? "" : ", ") + entry.name;
  if (names.empty()) return InputError(module.file() + " has no entry", "an entry is .entry");
  return InputError(name.empty() ? fmt::format("{} has {} entries", module.file(), entries.size())
                                 : fmt::format("{} has no entry {}", module.file(), name),
                    "name one with --entry: " + names);
}

Result<std::array<uint32_t, 3>> PtxBlockOf(const ptx::EntryInfo& entry, const PtxRunSpec& spec) {
  if (spec.block[0] != 0) return spec.block;
  if (entry.required_threads[0] != 0) {
    std::array<uint32_t, 3> block = entry.required_threads;
    for (uint32_t& size : block) size = std::max(size, 1u);
    return block;
  }
  return InputError(fmt::format("{} does not say how many threads a block has", entry.name),
                    "give them: --block 128");
}

}  // namespace

Result<std::array<uint32_t, 3>> ExtentFromText(std::string_view option, std::string_view text) {
  std::array<uint32_t, 3> sizes{1, 1, 1};
  std::string_view rest = text;
  for (size_t i = 0; i < 3; ++i) {
    const std::string_view one = rest.substr(0, rest.find(','));
    const auto read = std::from_chars(one.data(), one.data() + one.size(), sizes[i]);
    const bool is_last = one.size() == rest.size();
    if (read.ec != std::errc() || read.ptr != one.data() + one.size() || sizes[i] == 0 ||
        (i == 2 && !is_last))
      break;
    if (is_last) return sizes;
    rest.remove_prefix(one.size() + 1);
  }
  return InputError(fmt::format("{} {}: not one to three sizes", option, text),
                    "write X, X,Y or X,Y,Z, each at least 1");
}

Result<PtxRunReport> RunPtx(const PtxRunSpec& spec) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(spec.file, spec.limits));
  HLOSCOPE_ASSIGN_OR_RETURN(const ptx::Module module,
                            ptx::Module::Parse(std::string(file.bytes()), spec.file));
  HLOSCOPE_ASSIGN_OR_RETURN(const ptx::EntryInfo* const entry, PtxEntryOf(module, spec.entry));
  std::vector<PtxArgument> arguments;
  for (const std::string& text : spec.arguments) {
    HLOSCOPE_ASSIGN_OR_RETURN(PtxArgument argument, ReadPtxArgument(text, spec.limits));
    arguments.push_back(std::move(argument));
  }
  HLOSCOPE_TRY(CheckPtxArguments(*entry, arguments));

  PtxRunReport report;
  report.entry = entry->name;
  report.target = module.target();
  report.grid = spec.grid;
  HLOSCOPE_ASSIGN_OR_RETURN(report.block, PtxBlockOf(*entry, spec));
  replay::RunOptions run;
  run.checks = spec.checks;
  replay::RunChecks checks(run);
  ptx::LaunchRequest request{entry->name, report.grid, report.block, spec.shared_bytes, {}, 0};
  std::vector<std::vector<std::byte>> before(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    PtxArgument& argument = arguments[i];
    if (argument.kind == PtxArgument::Kind::kNumber) {
      request.arguments.push_back({{}, argument.memory});
      continue;
    }
    request.arguments.push_back({argument.memory, {}});
    checks.Allocated(argument.memory);
    if (argument.kind != PtxArgument::Kind::kOut) checks.Written(argument.memory);
    if (argument.kind == PtxArgument::Kind::kIn) before[i] = argument.memory;
  }
  ptx::LaunchOptions options;
  options.threads = spec.budget.threads > 0 ? spec.budget.threads : AvailableCpus();
  options.deadline = spec.budget.deadline;
  options.stop = spec.budget.stop;
  const replay::LaunchedFor launched{
      entry->name, [&](size_t i) {
        return i < entry->parameters.size() ? entry->parameters[i].name : std::string("a number");
      }};
  HLOSCOPE_ASSIGN_OR_RETURN(const ptx::LaunchResult result,
                            checks.Launch(launched, module, request, options));
  PtxFindings findings(report);
  checks.Tell(findings);
  if (result.fault) {
    std::string text = result.fault->ToString();
    text.erase(0, result.fault->place.ToString().size() + 2);  // the error has it too
    return std::unexpected(Error{ErrorClass::kCrashed, std::move(text), result.fault->place, {}});
  }
  report.warp_instructions = result.counters.warp_instructions;
  if (const uint64_t beyond = result.counters.padding_bytes; beyond > 0) {
    replay::RunFinding found;
    found.kind = "memory";
    found.instruction = entry->name;
    found.what = fmt::format(
        "{} read beyond the end of an argument, within its padding to 256 bytes: poison (0xff) "
        "here, "
        "what lies there on a device",
        Counted(beyond, "byte is", "bytes are"));
    report.findings.push_back(std::move(found));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    PtxArgument& argument = arguments[i];
    if (argument.kind == PtxArgument::Kind::kIn && argument.memory != before[i]) {
      report.warnings.push_back(fmt::format(
          "the kernel writes to {}, which is only read from: inout:{} shows what it leaves",
          entry->parameters[i].name, argument.text));
    }
    if (!argument.is_result()) continue;
    hlo::Literal value = hlo::Literal::Dense(argument.shape, std::move(argument.memory));
    if (!argument.file.empty())
      HLOSCOPE_TRY(WriteFileAtomically(argument.file, dump::NpyFromLiteral(value)));
    report.results.push_back(
        {static_cast<int64_t>(i), entry->parameters[i].name, std::move(value), argument.file});
  }
  return report;
}

}  // namespace hloscope::debug
