// Settings and sessions as JSON files; a broken one counts as none.
#include "viewer/model/state_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/closest_text.h"
#include "core/base/file.h"
#include "core/base/fnv.h"
#include "core/base/json.h"
#include "core/base/parse_json.h"
#include "core/base/text.h"
#include "core/hlo/analysis/find_instruction.h"
#include "profiler/event_store.h"
#include "viewer/model/counterparts.h"

namespace hloscope::viewer {
namespace {

using Json = nlohmann::json;

// Of the files below. A later hloscope counts on where it changes their meaning. Before version 2
// bookmarks were positions.
constexpr int64_t kVersion = 2;

std::string TextOf(const Json& json, const char* key) {
  if (!json.is_object()) return {};
  auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}
// At most 20; what is no text is left out.
std::vector<std::string> TextsOf(const Json& json, const char* key) {
  constexpr size_t kMax = 20;
  std::vector<std::string> out;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_array()) return out;
  for (const Json& text : *found) {
    if (text.is_string() && out.size() < kMax) out.push_back(text.get<std::string>());
  }
  return out;
}
int64_t NumberOf(const Json& json, const char* key, int64_t absent) {
  if (!json.is_object()) return absent;
  auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? found->get<int64_t>() : absent;
}

// A file name for a path: the same in every run.
std::string NameFor(const std::string& path) {
  return fmt::format("session-{:016x}.json", FnvOf(path));
}

std::string FullPath(const std::string& path) {
  std::error_code error;
  std::filesystem::path full = std::filesystem::weakly_canonical(path, error);
  return error ? path : full.string();
}

// The texts of an anchor by their keys.
constexpr std::pair<const char*, std::string Anchor::*> kAnchorTexts[] = {
    {"name", &Anchor::name}, {"event", &Anchor::event}, {"lane", &Anchor::lane}};
constexpr std::pair<const char*, std::string ModuleAnchor::*> kModuleTexts[] = {
    {"folder", &ModuleAnchor::folder},
    {"module", &ModuleAnchor::name},
    {"timestamp", &ModuleAnchor::timestamp}};

void WriteBookmark(const Bookmark& bookmark, JsonWriter& json) {
  const Anchor& anchor = bookmark.anchor;
  json.BeginObject().Field("title", bookmark.title).Field("note", bookmark.note);
  json.Field("kind", ToString(anchor.kind)).Field("stage", anchor.place.stage);
  for (const auto& [key, text] : kModuleTexts) json.Field(key, anchor.place.module.*text);
  for (const auto& [key, text] : kAnchorTexts) json.Field(key, anchor.*text);
  json.Field("id", anchor.place.module.id).Field("number", anchor.number);
  json.Field("start", anchor.start).Key("shape_index").BeginArray();
  for (const int64_t index : anchor.shape_index) json.Value(index);
  json.EndArray().EndObject();
}

Anchor ReadAnchor(const Json& json) {
  Anchor anchor;
  const std::string kind = TextOf(json, "kind");
  for (int k = 0; k <= static_cast<int>(kLastSelectionKind); ++k) {
    if (ToString(static_cast<SelectionKind>(k)) == kind)
      anchor.kind = static_cast<SelectionKind>(k);
  }
  for (const auto& [key, text] : kModuleTexts) anchor.place.module.*text = TextOf(json, key);
  for (const auto& [key, text] : kAnchorTexts) anchor.*text = TextOf(json, key);
  anchor.place.stage = TextOf(json, "stage");
  anchor.place.module.id = NumberOf(json, "id", -1);
  anchor.number = NumberOf(json, "number", 0);
  anchor.start = std::clamp<int64_t>(NumberOf(json, "start", 0), 0, profiler::kLongestTime);
  if (const auto shape = json.find("shape_index"); shape != json.end() && shape->is_array()) {
    for (const Json& index : *shape) {
      if (index.is_number_integer()) anchor.shape_index.push_back(index.get<int64_t>());
    }
  }
  return anchor;
}

// As version 1 had them: NamePositions tells what they mean.
Selection ReadPositions(const Json& json) {
  auto number = [&](const char* key) { return static_cast<int32_t>(NumberOf(json, key, -1)); };
  Selection s;
  s.kind = static_cast<SelectionKind>(std::clamp<int64_t>(
      NumberOf(json, "kind", 0), 0, static_cast<int64_t>(SelectionKind::kSourceLine)));
  s.module = number("module");
  s.stage = number("stage");
  s.computation = hlo::ComputationId(static_cast<uint32_t>(NumberOf(json, "computation", -1)));
  s.instruction = hlo::InstructionId(static_cast<uint32_t>(NumberOf(json, "instruction", -1)));
  s.thunk = number("thunk");
  s.kernel = number("kernel");
  s.buffer = number("buffer");
  s.file = number("file");
  s.line = number("line");
  s.source_file = TextOf(json, "source_file");
  s.source_line = number("source_line");
  return s;
}

Bookmark ReadBookmark(const Json& json) {
  Bookmark out{.title = TextOf(json, "title"), .note = TextOf(json, "note"), .selection = {}};
  if (!json.is_object()) return out;
  if (const auto kind = json.find("kind"); kind != json.end() && kind->is_string()) {
    out.anchor = ReadAnchor(json);
  } else {
    out.selection = ReadPositions(json);
  }
  return out;
}

}  // namespace

// Nothing where the file is not there or cannot be read.
std::optional<std::string> StateFolder::Read(const std::string& name) {
  const std::string path = path_ + "/" + name;
  std::error_code error;
  if (path_.empty() || !std::filesystem::exists(path, error)) return std::nullopt;
  Result<FileView> file = FileView::Open(path, Limits{}, *calls_);
  if (file) return std::string(file->bytes());
  problems_.push_back("saved state ignored: " + file.error().ToString());
  return std::nullopt;
}

// An object of a version that is known here.
std::optional<Json> StateFolder::ReadJson(const std::string& name) {
  std::optional<std::string> text = Read(name);
  if (!text) return std::nullopt;
  Json json = ParseJson(*text).value_or(nullptr);
  if (!json.is_object()) {
    problems_.push_back(path_ + "/" + name + ": corrupt, ignored");
    return std::nullopt;
  }
  if (NumberOf(json, "version", kVersion) <= kVersion) return json;
  problems_.push_back(path_ + "/" + name +
                      ": written by a newer hloscope; ignored and left unchanged");
  of_later_version_.insert(name);
  return std::nullopt;
}

KeptSettings StateFolder::ReadSettings() {
  KeptSettings out;
  const std::optional<Json> read = ReadJson("settings.json");
  if (!read) return out;
  const Json& json = *read;
  out.dark = TextOf(json, "theme") != "light";
  out.zoom =
      static_cast<float>(std::clamp<int64_t>(NumberOf(json, "zoom_percent", 100), 50, 300)) / 100;
  out.is_maximized = json.value("maximized", Json(false)) == Json(true);
  out.recent = TextsOf(json, "recent");
  return out;
}

std::optional<KeptSession> StateFolder::ReadSession(const std::string& dump_path) {
  const std::optional<Json> read = ReadJson(NameFor(FullPath(dump_path)));
  if (!read) return std::nullopt;
  const Json& json = *read;
  KeptSession out;
  out.screen = TextOf(json, "screen");
  out.selection = TextOf(json, "selection");
  out.second = TextOf(json, "second");
  out.profiles = TextsOf(json, "profiles");
  out.second_profile = TextOf(json, "second_profile");
  if (json.contains("views") && json["views"].is_object()) {
    for (const auto& [id, state] : json["views"].items()) {
      if (state.is_string()) out.views.emplace_back(id, state.get<std::string>());
    }
  }
  if (json.contains("bookmarks") && json["bookmarks"].is_array()) {
    for (const Json& bookmark : json["bookmarks"]) out.bookmarks.push_back(ReadBookmark(bookmark));
  }
  return out;
}

std::string StateFolder::ReadLayout() { return Read("layout.ini").value_or(""); }

Status StateFolder::Write(const std::string& name, std::string_view bytes) const {
  if (path_.empty() || of_later_version_.contains(name)) return {};
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error)
    return EnvironmentError(fmt::format("{}: cannot be created: {}", path_, error.message()),
                            "layout and session cannot be saved");
  return WriteFileAtomically(path_ + "/" + name, bytes, *calls_);
}

Status StateFolder::WriteSettings(const KeptSettings& settings) const {
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Field("version", kVersion).Field("theme", settings.dark ? "dark" : "light");
  json.Field("zoom_percent", std::lround(settings.zoom * 100));
  json.Field("maximized", settings.is_maximized).Key("recent").BeginArray();
  for (const std::string& path : settings.recent) json.Value(path);
  json.EndArray().EndObject();
  return Write("settings.json", text);
}

Status StateFolder::WriteSession(const std::string& dump_path, const KeptSession& session) const {
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Field("version", kVersion);
  json.Field("dump", FullPath(dump_path)).Field("screen", session.screen);
  json.Field("selection", session.selection).Field("second", session.second);
  json.Field("second_profile", session.second_profile).Key("profiles").BeginArray();
  for (const std::string& path : session.profiles) json.Value(path);
  json.EndArray().Key("views").BeginObject();
  for (const auto& [id, state] : session.views) json.Field(id, state);
  json.EndObject().Key("bookmarks").BeginArray();
  for (const Bookmark& bookmark : session.bookmarks) WriteBookmark(bookmark, json);
  json.EndArray().EndObject();
  return Write(NameFor(FullPath(dump_path)), text);
}

Status StateFolder::WriteLayout(std::string_view layout) const {
  return Write("layout.ini", layout);
}

std::string SelectionText(const dump::DumpModel& dump, const Selection& selection,
                          const hlo::Module* module) {
  if (selection.kind == SelectionKind::kGraphNode) {
    const std::vector<Crumb> crumbs = Breadcrumbs(dump, selection, nullptr);
    return crumbs.empty() ? std::string()
                          : fmt::format("{}:{}", crumbs.front().text, crumbs.back().text);
  }
  int32_t m = ModuleOf(dump, selection);
  if (m < 0) return {};
  const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(m)];
  std::string out = entry.id >= 0 ? fmt::format("{}.{}", entry.id, entry.name) : entry.name;
  auto stage = static_cast<size_t>(selection.stage);
  if (selection.stage < 0 || stage >= entry.stages.size()) return out;
  out += "@" + entry.stages[stage].name;
  if (module != nullptr && selection.instruction.valid() &&
      selection.instruction.index < module->instructions().size())
    out += ":" + std::string(module->name(selection.instruction));
  return out;
}

namespace {

// How well a module answers to a name: 0 not at all.
int Fit(const dump::ModuleEntry& entry, std::string_view name) {
  std::string id = std::to_string(entry.id);
  if (name == id + "." + entry.name || name == fmt::format("module_{:04}.{}", entry.id, entry.name))
    return 4;
  if (name == entry.name) return 3;
  if (entry.id >= 0 && (name == id || name == fmt::format("module_{:04}", entry.id))) return 2;
  return !name.empty() && entry.name.find(name) != std::string::npos ? 1 : 0;
}

int32_t FindModule(const dump::DumpModel& dump, std::string_view name) {
  int best = 0;
  int32_t found = -1;
  for (size_t i = 0; i < dump.modules().size(); ++i) {
    int fit = Fit(dump.modules()[i], name);
    if (fit > best) {
      best = fit;
      found = static_cast<int32_t>(i);
    }
  }
  return found;
}

// A node of a graph of TensorFlow as "FILE:NODE", where FILE is its path or its bare name, or as
// "NODE" alone; kNothing: there is none.
Selection FindGraphNode(const dump::DumpModel& dump, std::string_view text) {
  for (size_t f = 0; f < dump.files().size(); ++f) {
    const dump::FileEntry& file = dump.files()[f];
    if (file.role != dump::FileRole::kTensorFlowGraph) continue;
    std::string_view name = text;
    for (std::string_view called : {std::string_view(file.path), dump::BareFileName(file.path)}) {
      if (text.starts_with(called) && text.substr(called.size()).starts_with(':'))
        name = text.substr(called.size() + 1);
    }
    const auto graph = dump.TensorFlow(static_cast<int32_t>(f));
    if (!graph) continue;
    const auto& nodes = (*graph)->nodes;
    const auto node = std::ranges::find_if(nodes, [&](const dump::TensorFlowNode& each) {
      return each.name == name && each.function.empty();
    });
    if (node != nodes.end())
      return Selection::OfGraphNode(static_cast<int32_t>(f),
                                    static_cast<int32_t>(node - nodes.begin()));
  }
  return {};
}

Result<Selection> FindSelection(const dump::DumpModel& dump, std::string_view text) {
  size_t colon = text.rfind(':');
  std::string_view place = text.substr(0, colon), instruction;
  if (colon != std::string_view::npos) instruction = text.substr(colon + 1);
  size_t at = place.find('@');
  std::string_view name = place.substr(0, at);
  int32_t module = FindModule(dump, name);
  if (module < 0 && dump.modules().size() == 1 && name.empty()) module = 0;
  if (module < 0) {
    const Selection node = FindGraphNode(dump, text);
    if (node.kind != SelectionKind::kNothing) return node;
    ClosestText closest(name);
    for (const dump::ModuleEntry& entry : dump.modules()) closest.Offer(entry.name);
    const std::string hint = closest.Hint();
    return InputError(fmt::format("no module called {}", RepairUtf8(name)),
                      hint.empty() ? "`hloscope info` lists the modules" : hint);
  }
  int32_t stage = at == std::string_view::npos ? dump.FinalStage(module)
                                               : dump.FindStage(module, place.substr(at + 1));
  if (at != std::string_view::npos && stage < 0)
    return InputError(fmt::format("module {} has no stage {}", RepairUtf8(name),
                                  RepairUtf8(place.substr(at + 1))),
                      "`hloscope info` lists the stages");
  if (instruction.empty())
    return at == std::string_view::npos ? Selection::OfModule(module)
                                        : Selection::OfStage(module, stage);
  if (instruction.starts_with('%')) instruction.remove_prefix(1);
  // Where the final stage has no such instruction the nearest earlier one that has it is meant.
  std::string hint;
  for (int32_t s = stage; s >= 0; --s) {
    Result<std::shared_ptr<const hlo::Module>> read = dump.Module(module, s);
    if (!read && s == stage) return std::unexpected(read.error());
    for (uint32_t i = 0; read && i < (*read)->instructions().size(); ++i) {
      if ((*read)->name(hlo::InstructionId(i)) == instruction)
        return Selection::OfInstruction(module, s, hlo::InstructionId(i));
    }
    if (read && hint.empty()) hint = hlo::SimilarInstruction(**read, instruction);
    if (at != std::string_view::npos) break;
  }
  return InputError(
      fmt::format("module {} has no instruction {}", RepairUtf8(name), RepairUtf8(instruction)),
      hint.empty() ? "`hloscope find` looks for names" : hint);
}

}  // namespace

Result<Selection> SelectionFromText(const dump::DumpModel& dump, std::string_view text) {
  Result<Selection> found = FindSelection(dump, text);
  if (!found && found.error().place.file.empty()) found.error().place.file = dump.path();
  return found;
}

}  // namespace hloscope::viewer
