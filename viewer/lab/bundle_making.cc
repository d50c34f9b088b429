// Making bundles in a child process.
#include "viewer/lab/bundle_making.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/child_process.h"
#include "core/base/counted.h"
#include "core/base/parse_json.h"
#include "core/base/scratch_folder.h"
#include "core/debug/bundle/check.h"
#include "core/debug/explain/diverge/write_verdict.h"
#include "core/debug/reduce/write_candidate.h"
#include "core/replay/workers/worker_environment.h"
#include "viewer/lab/failing_run.h"
#include "viewer/lab/reduction.h"
#include "viewer/model/document.h"
#include "viewer/model/experiment.h"
#include "viewer/model/marks.h"
#include "viewer/model/messages.h"
#include "viewer/model/navigation.h"
#include "viewer/model/number_text.h"
#include "viewer/model/pass_search.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/tasks.h"

namespace hloscope::viewer {
namespace {

using Json = nlohmann::json;

// All that the process needs.
struct Packing {
  std::string program, module;
  std::string verdict;                                 // JSON; empty: none
  std::shared_ptr<const debug::ReduceReport> reduced;  // null: none
  debug::RunSpec request;
  BundleOptions options;
  Limits limits;
};

// What the last line of JSON says; no object: there is none.
Json LastLine(const std::string& output) {
  const size_t line = output.rfind("{\"file\"");
  if (line == std::string::npos) return Json();
  return ParseJson(output.substr(line, output.find('\n', line) - line)).value_or(nullptr);
}

// The error, or what else it printed.
std::string WhatItSaid(const std::string& output) {
  const Json json = LastLine(output);
  if (json.is_object() && json.contains("error") && json["error"].is_string()) {
    return json["error"].get<std::string>();
  }
  constexpr size_t kMax = 400;
  return output.substr(0, kMax);
}

Result<std::vector<std::string>> ArgumentsOf(const Packing& packing, const std::string& scratch) {
  std::vector<std::string> arguments = {"hloscope", "bundle",
                                        "create",   packing.module,
                                        "--output", packing.options.path,
                                        "--values", std::string(ToString(packing.options.values)),
                                        "--json"};
  for (std::string& argument : debug::RunArguments(packing.request)) {
    arguments.push_back(std::move(argument));
  }
  for (const std::string& path : packing.request.inputs.files) {
    arguments.insert(arguments.end(), {"--inputs", path});
  }
  if (!packing.options.note.empty()) arguments.push_back("--note=" + packing.options.note);
  if (packing.options.no_source) arguments.emplace_back("--no-source");
  if (!packing.verdict.empty()) {
    const std::string path = scratch + "/verdict.json";
    HLOSCOPE_TRY(WriteFileAtomically(path, packing.verdict));
    arguments.insert(arguments.end(), {"--verdict", path});
  }
  if (packing.reduced != nullptr) {
    const std::string path = scratch + "/reduced.hlo", inputs = scratch + "/reduced.npz";
    HLOSCOPE_ASSIGN_OR_RETURN(
        const bool has_inputs,
        debug::WriteCandidate(packing.reduced->smallest, packing.reduced->inputs_from_seed, path,
                              inputs));
    arguments.insert(arguments.end(), {"--reduced", path});
    if (has_inputs) arguments.insert(arguments.end(), {"--reduced-inputs", inputs});
  }
  return arguments;
}

// What `bundle create` prints.
Result<std::string> RunPacker(const Packing& packing, const std::vector<std::string>& more,
                              const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto scratch, ScratchFolder::Make());
  HLOSCOPE_ASSIGN_OR_RETURN(std::vector<std::string> arguments,
                            ArgumentsOf(packing, scratch.path()));
  arguments.insert(arguments.end(), more.begin(), more.end());
  ChildOptions options{.program = packing.program,
                       .arguments = std::move(arguments),
                       .environment = replay::CleanEnvironment({}),
                       .descriptors = {}};
  HLOSCOPE_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  // It runs the module and has it replayed.
  const auto most = 2 * debug::LongestReplay(packing.request, packing.reduced != nullptr);
  std::string output = child.ReadAll(stop, std::chrono::steady_clock::now() + most);
  constexpr std::chrono::seconds kToEnd(10);
  const auto exit = child.Wait(kToEnd);
  if (stop.stop_requested()) return EnvironmentError("stopped");
  if (child.passed_deadline()) {
    return std::unexpected(
        Error{ErrorClass::kDeadlineExceeded,
              fmt::format("it did not end within {} s",
                          std::chrono::duration_cast<std::chrono::seconds>(most).count()),
              {},
              "give the run more time"});
  }
  if (!exit || exit->by_signal || exit->code != 0) return EnvironmentError(WhatItSaid(output));
  return output;
}

Computed<MadeFile> Pack(const Packing& packing, const std::stop_token& stop) {
  HLOSCOPE_TRY(RunPacker(packing, {}, stop));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto bundle,
                            dump::BundleFile::Open(packing.options.path, packing.limits));
  auto made = std::make_shared<MadeFile>();
  HLOSCOPE_ASSIGN_OR_RETURN(made->manifest, debug::ManifestOf(bundle));
  made->parts.assign(bundle.listed().begin(), bundle.listed().end());
  std::error_code error;
  made->bytes = static_cast<int64_t>(std::filesystem::file_size(packing.options.path, error));
  return made;
}

std::shared_ptr<PlannedFile> PlanIn(const Json& json) {
  auto plan = std::make_shared<PlannedFile>();
  plan->bytes = json.value("bytes", int64_t{0});
  plan->packed_bytes = json.value("packed_bytes", int64_t{0});
  const Json &sizes = json.at("sizes"), &of_run = json.at("of_run");
  for (const Json& name : json["parts"]) {
    const auto part = dump::BundlePartFromFile(name.get<std::string>());
    if (!part) continue;
    PlannedFile::Part& planned = plan->parts.emplace_back(*part);
    if (const auto size = sizes.find(name.get<std::string>()); size != sizes.end()) {
      planned.bytes = size->get<int64_t>();
    }
    planned.of_run = std::ranges::find(of_run, name) != of_run.end();
  }
  for (const auto& [kind, count] : json.at("redacted").items()) {
    plan->redacted.emplace_back(kind, count.get<int64_t>());
  }
  for (const Json& note : json.at("notes")) plan->notes.push_back(note.get<std::string>());
  return plan;
}

Computed<PlannedFile> ReadPlan(const std::string& output) {
  const Json json = LastLine(output);
  if (!json.is_object() || !json.contains("parts")) return EnvironmentError(WhatItSaid(output));
  try {
    return PlanIn(json);
  } catch (const Json::exception&) {  // of another build
    return EnvironmentError(WhatItSaid(output));
  }
}

Computed<PlannedFile> AskForPlan(const Packing& packing, const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string output, RunPacker(packing, {"--plan"}, stop));
  return ReadPlan(output);
}

// Everything that a plan depends on, without what takes long to write down.
struct BundlePlanKey {
  using Value = PlannedFile;
  int32_t module = -1, stage = -1;
  std::string asked;
  std::string verdict;  // its sentence
  size_t reduced = 0;   // its instructions; 0: none
  int64_t tries = 0;    // that made it so small
  auto operator<=>(const BundlePlanKey&) const = default;
};

int32_t StageToPack(Context& context, const std::optional<FailingRun>& run) {
  return run ? run->stage : context.navigation.stage();
}

const debug::ReduceReport* ReducedOn(Context& context, int32_t module) {
  const Reduction* reduction = ReductionOn(context, module);
  const bool is_small = reduction != nullptr && reduction->report.ready() &&
                        reduction->report->status == debug::ReduceStatus::kReduced;
  return is_small ? reduction->report.value.get() : nullptr;
}

Packing PackingOf(Context& context, int32_t module, const BundleOptions& options) {
  const dump::DumpModel& dump = *context.document.dump();
  Packing packing;
  packing.program = context.experiment.program();
  packing.options = options;
  packing.limits = dump.limits();
  const auto run = FailingRunOf(context, module);
  if (run) packing.request = run->request;
  const int32_t file = dump.ModuleFile(module, StageToPack(context, run));
  if (file >= 0) packing.module = dump.FullPath(file);
  const Pending<debug::DivergeVerdict>* verdict = VerdictOn(context, module);
  if (verdict != nullptr && verdict->ready()) {
    const bool kept = verdict == &context.document.verdict();
    packing.verdict =
        kept ? context.document.verdict_json() : debug::VerdictJson({packing.module}, **verdict);
  }
  if (ReducedOn(context, module) != nullptr) {
    packing.reduced = ReductionOn(context, module)->report.value;
  }
  return packing;
}

}  // namespace

const Pending<PlannedFile>& BundlePlanOf(Context& context, int32_t module,
                                         const BundleOptions& options) {
  const auto run = FailingRunOf(context, module);
  const Pending<debug::DivergeVerdict>* verdict = VerdictOn(context, module);
  const debug::ReduceReport* reduced = ReducedOn(context, module);
  const BundlePlanKey key{
      module,
      StageToPack(context, run),
      fmt::format("{}\n{}\n{}\n{}\n{}", run ? debug::RunOptionsText(run->request) : "",
                  run ? fmt::format("{}", fmt::join(run->request.inputs.files, "\n")) : "",
                  ToString(options.values), options.no_source, options.note),
      verdict != nullptr && verdict->ready() ? (*verdict)->sentence : "",
      reduced == nullptr ? 0 : reduced->instructions,
      reduced == nullptr ? 0 : reduced->tries};
  if (const Pending<PlannedFile>* known = context.cache.Find(key)) return *known;
  Packing packing = PackingOf(context, module, options);
  if (packing.options.path.empty()) packing.options.path = "plan.hlob";  // is not written
  return context.cache.Get(
      key, "planning the bundle",
      [packing = std::move(packing)](TaskControl& control) -> Computed<PlannedFile> {
        if (packing.module.empty()) return EnvironmentError("this stage has no file");
        return AskForPlan(packing, control.stop());
      });
}

void MakeBundle(Context& context, int32_t module, const BundleOptions& options) {
  if (!context.document.dump().ready() || module < 0) return;
  Packing packing = PackingOf(context, module, options);
  if (packing.module.empty()) {
    return context.messages.Post(Severity::kError, "bundle not created: this stage has no file");
  }
  auto making = std::make_shared<BundleMaking>();
  making->options = options;
  making->made.state = PendingState::kWaiting;
  making->made.task = context.tasks.Start(
      "creating a bundle",
      [making, packing = std::move(packing),
       &messages = context.messages](TaskControl& control) -> Tasks::Finish {
        auto made = std::make_shared<Computed<MadeFile>>(
            Guarded<MadeFile>([&](TaskControl& c) { return Pack(packing, c.stop()); }, control));
        return [making, made, &messages] {
          making->made.Settle(std::move(*made));
          if (making->made.failed()) {
            return messages.Post(Severity::kError,
                                 "bundle not created: " + making->made.error.ToString());
          }
          messages.Post(Severity::kNote, making->options.path + ": " + MadeText(*making->made));
        };
      });
  context.marks.Of<MadeBundle>().last = making;
}

const BundleMaking* LastBundle(Context& context) {
  return context.marks.Of<MadeBundle>().last.get();
}

std::string MadeText(const MadeFile& made) {
  return fmt::format("{} in {}; in a clean process: {}", BytesText(made.bytes),
                     Counted(made.parts.size() + 1, "part"), made.manifest.replayed);
}

std::string RedactedText(const std::vector<std::pair<std::string, int64_t>>& counts) {
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : counts) kinds.push_back(fmt::format("{} × {}", count, kind));
  return kinds.empty() ? "nothing" : fmt::format("{}", fmt::join(kinds, ", "));
}

}  // namespace hloscope::viewer
