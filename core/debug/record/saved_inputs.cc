// TensorFlow compiles arguments that must be known into the module, so a call may have more arrays
// than the module has parameters.
#include "core/debug/record/saved_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "core/base/counted.h"
#include "core/base/file.h"
#include "core/base/parse_json.h"
#include "core/debug/record/private_file.h"
#include "core/dump/split_ids.h"
#include "core/dump/tensors/npz.h"

namespace hloscope::debug {
namespace {

namespace fs = std::filesystem;
using Array = dump::EntryArrays::Array;

constexpr const char* kFolder = "hloscope-inputs";

struct Call {
  std::string stem;    // the path of its .npz without that
  std::string folder;  // of the dump, relative
  std::string function;
  std::optional<int64_t> module;  // its id
  std::vector<Array> arrays;
  std::pair<int64_t, int64_t> number;  // process, and the number of the call there
};

struct Choice {
  enum class Count : uint8_t { kNone, kOne, kSeveral } count = Count::kNone;
  std::vector<size_t> arrays;  // by position, where it is the only one
};

// The arrays that the parameters are.
Choice ChooseArrays(const std::vector<Array>& arrays, const std::vector<Array>& parameters) {
  // The first choice takes each parameter as early as it can, the last one as late: where both are
  // the same there is no other.
  std::vector<size_t> first, last;
  for (size_t k = 0; k < arrays.size() && first.size() < parameters.size(); ++k) {
    if (arrays[k] == parameters[first.size()]) first.push_back(k);
  }
  for (size_t k = arrays.size(); k-- > 0 && last.size() < parameters.size();) {
    if (arrays[k] == parameters[parameters.size() - 1 - last.size()]) last.push_back(k);
  }
  std::ranges::reverse(last);
  if (first.size() != parameters.size()) return {};
  if (first != last) return {.count = Choice::Count::kSeveral, .arrays = {}};
  return {.count = Choice::Count::kOne, .arrays = std::move(first)};
}

// The name that XLA gives the module of a TensorFlow function: two underscores may not begin it.
std::string ModuleNameOf(std::string function) {
  if (function.starts_with("__")) function[0] = 'a';
  for (char& c : function) {
    const bool is_kept =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
    if (!is_kept) c = '_';
  }
  return function;
}

// The name, or it with what TensorFlow appends: "__XlaMustCompile_true_…", "__.3", ".3".
bool IsOfFunction(std::string_view module, std::string_view function) {
  if (!module.starts_with(function)) return false;
  module.remove_prefix(function.size());
  return module.empty() || module.starts_with("__") || module.starts_with('.');
}

std::optional<Call> ReadCall(const fs::path& path, const std::string& folder,
                             const Limits& limits) {
  const auto file = FileView::Open(path.string(), limits);
  if (!file) return std::nullopt;
  const auto json = ParseJson(file->bytes(), limits);
  if (!json || !json->is_object()) return std::nullopt;
  try {
    Call call;
    call.stem = (path.parent_path() / path.stem()).string();
    call.folder = folder;
    call.function = json->at("function").get<std::string>();
    if (json->at("module").is_number_integer()) call.module = json->at("module").get<int64_t>();
    for (const nlohmann::json& array : json->at("arrays")) {
      call.arrays.push_back({array.at("type").get<std::string>(),
                             array.at("dimensions").get<std::vector<int64_t>>()});
    }
    const std::string name = path.stem().string();
    call.number = {std::stoll(name), std::stoll(name.substr(name.find('-') + 1))};
    return call;
  } catch (const std::exception&) {
    return std::nullopt;  // the program wrote into the folder of the hook
  }
}

std::string ArraysText(const std::vector<Array>& arrays) {
  constexpr size_t kMost = 6;
  std::vector<std::string> texts;
  for (const Array& array : arrays) {
    if (texts.size() == kMost) {
      texts.push_back(fmt::format("and {} more", arrays.size() - kMost));
      break;
    }
    texts.push_back(fmt::format("{}[{}]", array.type, fmt::join(array.dimensions, ",")));
  }
  return texts.empty() ? "no arrays" : fmt::format("{}", fmt::join(texts, ", "));
}

class Settler {
 public:
  explicit Settler(const dump::DumpModel& model) : model_(model) {}

  SavedInputs Run() {
    ReadFolders();
    for (size_t m = 0; m < model_.modules().size(); ++m) {
      const dump::ModuleEntry& module = model_.modules()[m];
      if (module.id < 0 || module.stages.empty()) continue;
      by_id_[{module.folder, module.id}].push_back(static_cast<int32_t>(m));
      by_name_[{module.folder, module.name}].push_back(static_cast<int32_t>(m));
    }
    std::ranges::sort(calls_, {}, &Call::number);
    for (const Call& call : calls_) Give(call);
    for (size_t m = 0; m < model_.modules().size(); ++m) {
      if (!taken_.contains(static_cast<int32_t>(m)))
        saved_.without.push_back(dump::TitleOf(model_.modules()[m]));
    }
    for (auto& [m, given] : taken_) saved_.given.push_back(std::move(given));
    std::error_code ignored;
    for (const std::string& folder : folders_) fs::remove_all(folder, ignored);
    return std::move(saved_);
  }

 private:
  void ReadFolders() {
    std::set<std::string> of_processes{""};
    std::error_code error;
    for (fs::directory_iterator it(model_.path(), error), end; !error && it != end;
         it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (name.starts_with("process-")) of_processes.insert(name);
    }
    for (const std::string& process : of_processes) ReadFolder(process);
  }

  void ReadFolder(const std::string& process) {
    const fs::path folder = fs::path(model_.path()) / process / kFolder;
    std::error_code error;
    if (!fs::is_directory(folder, error)) return;
    folders_.push_back(folder.string());
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      if (it->path().extension() != ".json") continue;
      if (auto call = ReadCall(it->path(), process, model_.limits())) {
        calls_.push_back(*std::move(call));
      }
    }
    if (const auto failures = FileView::Open((folder / "failures").string(), model_.limits())) {
      TellLines(failures->bytes());
    }
  }

  void TellLines(std::string_view text) {
    constexpr size_t kMost = 10;
    size_t told = 0;
    for (; !text.empty() && told < kMost; ++told) {
      const size_t end = std::min(text.find('\n'), text.size());
      saved_.warnings.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    const auto more = std::ranges::count(text, '\n');
    if (more > 0)
      saved_.warnings.push_back(fmt::format("and {} like it", Counted(more, "message")));
  }

  // The modules that the call may have run, by ascending id.
  std::vector<int32_t> CandidatesOf(const Call& call) const {
    if (call.module) {
      const auto at = by_id_.find({call.folder, *call.module});
      return at == by_id_.end() ? std::vector<int32_t>() : at->second;
    }
    std::vector<int32_t> candidates;
    const std::string name = ModuleNameOf(call.function);
    for (auto at = by_name_.lower_bound({call.folder, name});
         at != by_name_.end() && at->first.first == call.folder &&
         at->first.second.starts_with(name);
         ++at) {
      if (IsOfFunction(at->first.second, name))
        candidates.insert(candidates.end(), at->second.begin(), at->second.end());
    }
    std::ranges::sort(candidates);
    return candidates;
  }

  void Give(const Call& call) {
    std::string why = ": no module of the dump is of that function";
    for (const int32_t m : CandidatesOf(call)) {
      if (taken_.contains(m)) continue;
      const auto module = model_.Module(m, 0);
      if (!module) {
        saved_.warnings.push_back(module.error().ToString());
        continue;
      }
      const std::vector<Array> parameters = dump::EntryArraysOf(**module).arrays;
      const Choice choice = ChooseArrays(call.arrays, parameters);
      if (choice.count == Choice::Count::kOne) return Keep(call, m, choice.arrays);
      why = fmt::format("{} the parameters of {}: {}",
                        choice.count == Choice::Count::kNone ? ", which are not"
                                                             : ", of which several choices are",
                        TitleOf(m), ArraysText(parameters));
    }
    saved_.warnings.push_back(fmt::format("the arguments of a call of `{}` are left out: {}{}",
                                          call.function, ArraysText(call.arrays), why));
  }

  std::string TitleOf(int32_t m) const {
    return dump::TitleOf(model_.modules()[static_cast<size_t>(m)]);
  }

  // "module_0001.jit_step" of the names of its files.
  std::string PrefixOf(int32_t m) const {
    const dump::StageEntry& stage = model_.modules()[static_cast<size_t>(m)].stages.front();
    const std::string path = model_.FullPath(model_.ModuleFile(m, 0));
    return path.substr(0, path.rfind("." + stage.name));
  }

  void Keep(const Call& call, int32_t m, const std::vector<size_t>& chosen) {
    const std::string path = PrefixOf(m) + ".inputs.npz";
    const Status kept = chosen.size() == call.arrays.size() ? Move(call.stem + ".npz", path)
                                                            : WriteSome(call, chosen, path);
    if (!kept) return saved_.warnings.push_back(kept.error().ToString());
    taken_[m] = {.module = TitleOf(m),
                 .file = fs::path(path).lexically_relative(model_.path()).string(),
                 .arrays = std::ssize(chosen)};
  }

  static Status Move(const std::string& from, const std::string& to) {
    std::error_code error;
    fs::rename(from, to, error);
    if (error) return EnvironmentError(fmt::format("{}: {}", to, error.message()));
    return {};
  }

  Status WriteSome(const Call& call, const std::vector<size_t>& chosen, const std::string& path) {
    HLOSCOPE_ASSIGN_OR_RETURN(FileView file, FileView::Open(call.stem + ".npz", model_.limits()));
    HLOSCOPE_ASSIGN_OR_RETURN(const auto archive,
                              dump::NpzArchive::Open(std::move(file), model_.limits()));
    std::vector<std::pair<std::string, std::string>> members;
    for (size_t k = 0; k < chosen.size(); ++k) {
      HLOSCOPE_ASSIGN_OR_RETURN(std::string bytes, archive.Read(fmt::format("in{}", chosen[k])));
      members.emplace_back(fmt::format("in{}", k), std::move(bytes));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const std::string bytes, dump::WriteNpz(members));
    return WritePrivateFile(path, bytes);
  }

  const dump::DumpModel& model_;
  std::vector<std::string> folders_;
  std::vector<Call> calls_;
  std::map<std::pair<std::string, int64_t>, std::vector<int32_t>> by_id_;  // and folder
  std::map<std::pair<std::string, std::string>, std::vector<int32_t>> by_name_;
  std::map<int32_t, SavedInputs::Given> taken_;  // by module
  SavedInputs saved_;
};

}  // namespace

SavedInputs SettleSavedInputs(const dump::DumpModel& model) { return Settler(model).Run(); }

}  // namespace hloscope::debug
