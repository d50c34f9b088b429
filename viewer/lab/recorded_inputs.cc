// Looking for inputs, and reading them to see whether they fit.
#include "viewer/lab/recorded_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/counted.h"
#include "core/debug/run/recorded_arguments.h"
#include "core/debug/run/run_inputs.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/replay/platform.h"
#include "viewer/model/document.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

namespace fs = std::filesystem;
using hlo::Shape;

constexpr size_t kMaxFiles = 30;

struct InputsKey {
  using Value = RecordedInputsList;
  int32_t module = -1, stage = -1;
  auto operator<=>(const InputsKey&) const = default;
};
struct ChosenKey {
  using Value = RecordedInputs;
  int32_t module = -1, stage = -1;
  std::string path;
  auto operator<=>(const ChosenKey&) const = default;
};

std::vector<Shape> ParameterLeaves(const hlo::Module& module) {
  std::vector<Shape> leaves;
  for (const Shape& shape : replay::ParameterShapes(module)) {
    for (const hlo::Shape* leaf : shape.LeafShapes()) {
      if (leaf->IsArray()) leaves.push_back(*leaf);
    }
  }
  return leaves;
}

void Note(RecordedInputs& inputs, std::string problem) {
  if (inputs.problem.empty()) inputs.problem = std::move(problem);
}

void ExamineArrays(const hlo::Module& module, const Limits& limits, RecordedInputs& inputs) {
  const std::string paths[] = {inputs.path};
  Result<dump::TensorFiles> files = debug::OpenArrays(paths, dump::BundlePart::kInputs, limits);
  if (!files) return Note(inputs, files.error().message);
  debug::NumberByParameters(*files, module);
  const std::vector<Shape> leaves = ParameterLeaves(module);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const auto given = files->Input(static_cast<int64_t>(i), leaves[i]);
    if (!given) {
      Note(inputs,
           fmt::format("wrong shape or type for parameter {}: {}", i, given.error().message));
    } else if (!*given) {
      Note(inputs,
           fmt::format("no value for parameter {}, {}", i, hlo::ToString(leaves[i], false)));
    } else {
      ++inputs.fitting;
    }
  }
  if (const Status few = replay::CheckDeviceCount(module, limits); !few) {
    return Note(inputs, few.error().ToString());
  }
  const replay::Placement placement(module, limits);
  if (inputs.problem.empty() || placement.lists() == 1) return;
  // Of several devices there are more forms, which only the run itself knows.
  const auto read = debug::ReadInputs(*files, module, placement);
  if (!read) return;
  inputs.problem.clear();
  inputs.fitting = inputs.parameters;
}

void ExamineSnapshot(const hlo::Module& module, const Limits& limits, RecordedInputs& inputs) {
  const auto known = debug::ReadSnapshotArguments(inputs.path, limits);
  if (!known) return Note(inputs, known.error().message);
  const std::vector<Shape> leaves = ParameterLeaves(module);
  std::vector<Shape> given;
  for (const hlo::Literal& argument : known->arguments) {
    for (const hlo::Literal& leaf : dump::FlattenLiteral(argument)) {
      if (leaf.shape().IsArray()) given.push_back(leaf.shape());
    }
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (i >= given.size()) {
      Note(inputs,
           fmt::format("no value for parameter {}, {}", i, hlo::ToString(leaves[i], false)));
    } else if (!hlo::Compatible(given[i], leaves[i], {.dynamic_dimensions = false})) {
      Note(inputs, fmt::format("wrong shape for parameter {}: {}, expected {}", i,
                               hlo::ToString(given[i], false), hlo::ToString(leaves[i], false)));
    } else {
      ++inputs.fitting;
    }
  }
}

struct Candidate {
  std::string path, name, what;
};

// Archives and arrays in the folder of the module's file; results that were recorded are none.
void AddFolder(const fs::path& file, std::vector<Candidate>& all) {
  const fs::path own = fs::path(file).replace_extension(".npz");
  std::error_code error;
  if (fs::is_regular_file(own, error)) {
    all.push_back({own.string(), own.filename().string(), "arrays next to the module"});
  }
  const fs::path folder = file.parent_path().empty() ? fs::path(".") : file.parent_path();
  std::set<std::string> names;
  bool has_arrays = false;
  constexpr int kMaxEntries = 20'000;
  int seen = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (++seen > kMaxEntries) break;
    const std::string name = at->path().filename().string();
    const bool is_result =
        name.starts_with("expected") || name.starts_with("output") || name.starts_with("results");
    if (name.ends_with(".npz") && !is_result && at->path().filename() != own.filename()) {
      names.insert(name);
    }
    has_arrays |= name == "input_0.npy" || name == "in0.npy" || name == "arr_0.npy";
  }
  if (has_arrays) all.push_back({folder.string(), "input_N.npy in the folder", "arrays"});
  for (const std::string& name : names) {
    if (all.size() >= kMaxFiles) return;
    all.push_back({(folder / name).string(), name, "arrays in the folder"});
  }
}

std::vector<Candidate> CandidatesOf(const dump::DumpModel& dump, const std::string& document,
                                    int32_t module, int32_t stage) {
  std::vector<Candidate> all;
  const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(module)];
  const auto add_snapshots = [&](dump::FileRole role, const char* what) {
    for (const int32_t file : entry.files) {
      const dump::FileEntry& known = dump.files()[static_cast<size_t>(file)];
      if (known.role != role || all.size() >= kMaxFiles) continue;
      all.push_back({dump.FullPath(file), fs::path(known.path).filename().string(), what});
    }
  };
  if (document.ends_with(".hlob")) {
    all.push_back({document, fs::path(document).filename().string(), "inputs of the bundle"});
  }
  add_snapshots(dump::FileRole::kUnoptimizedSnapshot, "snapshot of an execution");
  add_snapshots(dump::FileRole::kSnapshot, "snapshot of an execution");
  add_snapshots(dump::FileRole::kCrashSnapshot, "snapshot at a NaN or infinity");
  const int32_t file = dump.ModuleFile(module, stage);
  if (file >= 0 && !document.ends_with(".hlob")) AddFolder(dump.FullPath(file), all);
  return all;
}

}  // namespace

std::string CoverageText(const RecordedInputs& inputs) {
  const std::string text =
      fmt::format("{} of {}", inputs.fitting, Counted(inputs.parameters, "parameter"));
  return inputs.fits() ? text : text + ": " + inputs.problem;
}

RecordedInputs ExamineInputs(std::string path, std::string name, std::string what,
                             const hlo::Module& module, const Limits& limits) {
  RecordedInputs inputs{.path = std::move(path), .name = std::move(name), .what = std::move(what)};
  inputs.parameters = std::ssize(ParameterLeaves(module));
  const std::string paths[] = {inputs.path};
  if (debug::NamesSnapshot(paths)) {
    ExamineSnapshot(module, limits, inputs);
  } else {
    ExamineArrays(module, limits, inputs);
  }
  return inputs;
}

const Pending<RecordedInputsList>& RecordedInputsOf(Context& context, int32_t module,
                                                    int32_t stage) {
  return context.cache.Get(
      InputsKey{module, stage}, "finding recorded inputs",
      [dump = context.document.dump().value, document = context.document.path(), module,
       stage](TaskControl& control) -> Computed<RecordedInputsList> {
        auto list = std::make_shared<RecordedInputsList>();
        const std::vector<Candidate> candidates = CandidatesOf(*dump, document, module, stage);
        if (candidates.empty()) return list;
        HLOSCOPE_ASSIGN_OR_RETURN(const auto read, dump->Module(module, stage));
        for (const Candidate& each : candidates) {
          if (control.stopped()) break;
          list->push_back(ExamineInputs(each.path, each.name, each.what, *read, dump->limits()));
        }
        // Files without a value that fits are not inputs of this module.
        std::erase_if(*list, [](const RecordedInputs& inputs) {
          return inputs.fitting == 0 && inputs.parameters > 0;
        });
        std::ranges::stable_sort(*list, [](const RecordedInputs& a, const RecordedInputs& b) {
          return std::pair(a.fits(), a.fitting) > std::pair(b.fits(), b.fitting);
        });
        return list;
      });
}

const Pending<RecordedInputs>& ChosenInputsOf(Context& context, int32_t module, int32_t stage,
                                              const std::string& path) {
  return context.cache.Get(
      ChosenKey{module, stage, path}, "reading the inputs",
      [dump = context.document.dump().value, module, stage,
       path](TaskControl&) -> Computed<RecordedInputs> {
        HLOSCOPE_ASSIGN_OR_RETURN(const auto read, dump->Module(module, stage));
        return std::make_shared<const RecordedInputs>(ExamineInputs(
            path, fs::path(path).filename().string(), "chosen", *read, dump->limits()));
      });
}

}  // namespace hloscope::viewer
