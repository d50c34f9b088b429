// Reading arguments from what was recorded with a module.
#include "core/debug/run/recorded_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/file.h"
#include "core/base/parse_json.h"
#include "core/dump/load.h"

namespace hloscope::debug {
bool HoldsArrays(const std::string& path) {
  std::error_code error;
  return path.ends_with(".npz") || path.ends_with(".npy") ||
         std::filesystem::is_directory(path, error);
}

// Names of modules and stages may have points: the longest name of such a file that begins it.
std::string SavedInputsOf(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string name = path.filename().string();
  if (!name.contains("module_")) return {};
  for (size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0;
       dot = name.rfind('.', dot - 1)) {
    const auto saved = path.parent_path() / (name.substr(0, dot) + ".inputs.npz");
    std::error_code error;
    if (std::filesystem::is_regular_file(saved, error)) return saved.string();
  }
  return {};
}

bool NamesSnapshot(std::span<const std::string> paths) {
  constexpr std::string_view kEndings[] = {".pb", ".pbtxt", ".txt", ".pb.gz"};
  return paths.size() == 1 && !HoldsArrays(paths[0]) &&
         std::ranges::any_of(kEndings, [&](std::string_view e) { return paths[0].ends_with(e); });
}

Result<RecordedArguments> ReadSnapshotArguments(const std::string& path, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(dump::LoadedModule loaded, dump::LoadSoundModule(path, limits));
  if (loaded.proto.arguments.empty()) {
    return InputError(
        path + ": contains no values of parameters",
        "give a snapshot, an .npz, .npy files, a folder with input_N.npy, or a bundle");
  }
  return RecordedArguments{std::move(loaded.proto.arguments.front()),
                           std::move(loaded.proto.result)};
}

namespace {

// The error of a part that no bundle of the recorded run holds, since the run had none; no message:
// it had, or the manifest does not say.
Error NeverHad(const dump::BundleFile& bundle, dump::BundlePart part, const Limits& limits) {
  const bool is_expected = part == dump::BundlePart::kExpected;
  if (!is_expected && part != dump::BundlePart::kInfeed) return {};
  const auto text = bundle.Read(dump::BundlePart::kManifest);
  if (!text) return {};
  const auto manifest = ParseJson(*text, limits);
  if (!manifest || !manifest->is_object()) return {};
  const auto member = [](const nlohmann::json& of, const char* key) {
    return of.is_object() && of.contains(key) ? of[key] : nlohmann::json();
  };
  const nlohmann::json had =
      member(member(*manifest, "recorded"), is_expected ? "against_expected" : "infeed_given");
  if (had != false) return {};
  if (!is_expected) {
    return InputError("the run in the bundle was given no values for infeeds",
                      "give them as a file")
        .error();
  }
  const nlohmann::json reference = member(member(*manifest, "request"), "reference_platform");
  const bool has_reference = reference.is_string() && !reference.get<std::string>().empty();
  return InputError(fmt::format("the run in the bundle had no expected results{}",
                                has_reference ? ", it was compared with a reference platform" : ""),
                    "`bundle check` repeats the run; its own results are results.npz in the bundle")
      .error();
}

}  // namespace

Result<dump::TensorFiles> OpenArrays(std::span<const std::string> paths, dump::BundlePart part,
                                     const Limits& limits) {
  if (paths.size() != 1 || HoldsArrays(paths[0])) return dump::TensorFiles::Open(paths, limits);
  HLOSCOPE_ASSIGN_OR_RETURN(const auto bundle, dump::OpenIfBundle(paths[0], limits));
  if (!bundle) return dump::TensorFiles::Open(paths, limits);
  if (!bundle->Has(part)) {
    if (Error never = NeverHad(*bundle, part, limits); !never.message.empty()) {
      never.place.file = paths[0];
      return std::unexpected(std::move(never));
    }
    return InputError(
        fmt::format("{}: the bundle does not contain {}", paths[0], dump::Describe(part)),
        "make it with --values all");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(std::string bytes, bundle->Read(part));
  HLOSCOPE_ASSIGN_OR_RETURN(
      dump::NpzArchive archive,
      dump::NpzArchive::Open(FileView::FromBytes(paths[0], std::move(bytes)), limits));
  return dump::TensorFiles::Of(std::move(archive), limits);
}

Result<std::vector<std::optional<std::vector<int64_t>>>> InputDimensions(
    std::span<const std::string> paths, const Limits& limits) {
  std::vector<std::optional<std::vector<int64_t>>> dimensions;
  if (paths.empty()) return dimensions;
  if (NamesSnapshot(paths)) {
    HLOSCOPE_ASSIGN_OR_RETURN(const RecordedArguments known,
                              ReadSnapshotArguments(paths[0], limits));
    for (const hlo::Literal& argument : known.arguments) {
      const auto sizes = argument.shape().dimensions();
      dimensions.emplace_back(std::in_place, sizes.begin(), sizes.end());
    }
    return dimensions;
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const dump::TensorFiles files,
                            OpenArrays(paths, dump::BundlePart::kInputs, limits));
  for (int64_t i = 0;; ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(auto array, files.InputDimensions(i));
    if (!array) return dimensions;
    dimensions.push_back(std::move(array));
  }
}

}  // namespace hloscope::debug
