// Attacks on whoever opens a bundle.
#include "tests/debug/hostile_bundles.h"

#include <fmt/format.h>

#include "core/base/zip.h"
#include "core/debug/bundle/manifest.h"

namespace hloscope::debug {
namespace {

using Parts = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kModule =
    "HloModule m\n\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] add(x, x)\n}\n";

void Put(std::string& bytes, size_t at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

// The manifest of `parts`, with one text in it replaced.
Parts WithManifest(Parts parts, std::string_view from, std::string_view to) {
  std::string& manifest = parts.front().second;
  const size_t at = manifest.find(from);
  manifest.replace(at, from.size(), to);
  return parts;
}

Parts With(std::string name, std::string bytes) {
  Parts parts = GoodParts();
  parts.emplace_back(std::move(name), std::move(bytes));
  return parts;
}

// Member names that lead somewhere else, or that are none.
void AddNames(std::vector<HostileBundle>& out) {
  const std::pair<std::string, std::string> names[] = {
      {"../evil", "leads out of the folder"},
      {"a/../../evil", "leads out of the folder"},
      {"..", "leads out of the folder"},
      {"/etc/passwd", "absolute name"},
      {"//server/x", "absolute name"},
      {"C:\\evil", "backslash or a drive"},
      {"C:evil", "backslash or a drive"},
      {"..\\evil", "backslash or a drive"},
      {"\\\\host\\x", "backslash or a drive"},
      {std::string("a\0b", 3), "printable ASCII"},
      {"a\nb", "printable ASCII"},
      {"caf\xc3\xa9", "printable ASCII"},
      {"\xe2\x80\xaehlo", "printable ASCII"},
      {"\xff\xfe", "printable ASCII"},
      {"evil.", "ends in a dot or space"},
      {"evil ", "ends in a dot or space"},
      {"a./b", "ends in a dot or space"},
      {"./evil", "empty part"},
      {"a//b", "empty part"},
      {"folder/", "empty part"},
      {".", "empty part"},
      {"", "no name"},
      {std::string(300, 'n'), "255 bytes"},
      {"evil.sh", "not a known part of a bundle"},
      {"sub/module.hlo", "not a known part of a bundle"},
      {"bundle.hlob", "not a known part"},
      {"module.hlo", "two members called"},
      {"MODULE.HLO", "two members called"},
      {"manifest.json", "two members called"}};
  for (const auto& [name, reason] : names) {
    out.push_back({"name " + name, ZipOf(With(name, "x")), reason});
  }
}

void AddManifests(std::vector<HostileBundle>& out) {
  const std::tuple<std::string, std::string, std::string> edits[] = {
      {"\"hlob\"", "\"zip\"", "not the manifest of a bundle"},
      {"\"version\":5", "\"version\":6", "format version 6"},
      {"\"version\":5", "\"version\":0", "format version 0"},
      {"\"version\":5", "\"version\":-7", "format version -7"},
      {"\"version\":5", "\"version\":18446744073709551615", "format version"},
      {"\"version\":5", "\"version\":1.5", "no format version"},
      {"\"version\":5", "\"version\":\"1\"", "no format version"},
      {"\"parts\":[", "\"other\":[", "no list of parts"},
      {"\"parts\":[", "\"parts\":[7,", "without file, bytes or hash"},
      {"\"file\":\"module.hlo\"", "\"file\":\"../module.hlo\"", "which is not a known part"},
      {"\"file\":\"module.hlo\"", "\"file\":\"manifest.json\"", "which is not a known part"},
      {"\"file\":\"module.hlo\"", "\"file\":\"note.txt\"", "not in the manifest"},
      {"\"bytes\":", "\"bytes\":1", "the manifest says"},
      {"\"bytes\":", "\"bytes\":-", "the manifest says"},
      {"\"hash\":\"", "\"hash\":7,\"x\":\"", "without file, bytes or hash"},
      {"{", "", "not the manifest"},
      {"}", "", "not the manifest"},
      {"{\"format\"", "[{\"format\"", "not the manifest"},
      {"{\"format\"", std::string(100'000, '[') + "{\"format\"", "not the manifest"},
      {"{\"format\"", "\xff\xfe{\"format\"", "not the manifest"}};
  for (const auto& [from, to, reason] : edits) {
    out.push_back(
        {"manifest " + to.substr(0, 40), ZipOf(WithManifest(GoodParts(), from, to)), reason});
  }
  Parts empty = GoodParts();
  empty.front().second = "";
  out.push_back({"empty manifest", ZipOf(empty), "not the manifest"});
  out.push_back({"no manifest", ZipOf({{"module.hlo", std::string(kModule)}}), "no manifest.json"});
  out.push_back({"manifest alone", ZipOf({GoodParts().front()}), "is missing"});
  out.push_back({"nothing", ZipOf({}), "no manifest.json"});
}

// Fields of the records changed so that sizes, places and kinds lie.
void AddRecords(std::vector<HostileBundle>& out) {
  const std::string good = ZipOf(GoodParts());
  const size_t central = good.find("PK\x01\x02"), end = good.rfind("PK\x05\x06");
  const size_t second = good.find("PK\x01\x02", central + 4);
  const auto add = [&](std::string name, size_t at, uint64_t value, size_t size,
                       std::string reason) {
    std::string bad = good;
    Put(bad, at, value, size);
    out.push_back({std::move(name), std::move(bad), std::move(reason)});
  };
  constexpr uint64_t kUnix = 3, kLink = 0xa1ff0000, kFifo = 0x11ff0000, kDevice = 0x61ff0000;
  for (const auto& [mode, reason] : {std::pair(kLink, "is a link"),
                                     {kFifo, "not a plain file"},
                                     {kDevice, "not a plain file"}}) {
    std::string bad = good;
    Put(bad, second + 5, kUnix, 1);
    Put(bad, second + 38, mode, 4);
    out.push_back({fmt::format("mode {:x}", mode), std::move(bad), reason});
  }
  add("a folder", second + 38, 0x10, 4, "not a plain file");
  add("encrypted", second + 8, 1, 2, "encrypted");
  add("method", second + 10, 12, 2, "packed by method");
  add("crc in the directory", second + 16, 1, 4, "local header and directory differ");
  add("packed size", second + 20, 1, 4, "");
  add("size", second + 24, 1 << 20, 4, "");
  add("4 GiB", second + 24, 0xfffffffe, 4, "the limit compression-ratio");
  add("zip64 without a field", second + 24, 0xffffffff, 4, "");
  add("overlap", second + 42, 0, 4, "differ in the name");
  add("place behind the end", second + 42, 0x7fffffff, 4, "no local header");
  add("name size", second + 28, 0xffff, 2, "cut off");
  add("extra size", second + 30, 0xffff, 2, "cut off");
  add("comment size", second + 32, 7, 2, "");
  add("count", end + 10, 1, 2, "more entries than it declares");
  add("more members", end + 10, 7, 2, "directory is broken");
  add("many members", end + 10, 0xfffe, 2, "limit archive-members");
  add("directory size", end + 12, 0, 4, "directory is broken");
  add("directory elsewhere", end + 16, 0, 4, "directory");
  add("comment of the archive", end + 20, 9, 2, "");
  out.push_back({"bytes before", "#!/bin/sh\n" + good, ""});
  out.push_back({"bytes behind", good + "trailing", "belong to no member"});
  std::string gap = good;
  gap.insert(central, "hidden");
  Put(gap, end + 6 + 16, central + 6, 4);
  out.push_back({"hidden bytes", gap, "belong to no member"});
}

// Members that share their data, and members of nothing but zeros.
void AddBombs(std::vector<HostileBundle>& out) {
  const std::string good = ZipOf(GoodParts());
  const size_t central = good.find("PK\x01\x02"), end = good.rfind("PK\x05\x06");
  const std::string entry = good.substr(central, good.find("PK\x01\x02", central + 4) - central);
  // A second entry for the same bytes.
  std::string shared = good;
  shared.insert(end, entry);
  Put(shared, end + entry.size() + 10, 3, 2);
  Put(shared, end + entry.size() + 12, end - central + entry.size(), 4);
  out.push_back({"shared data", shared, "two members called"});
  const std::string zeros(8 << 20, '\0');
  const std::pair<std::string, std::string> bomb[] = {{"note.txt", zeros}};
  std::vector<ZipEntry> entries = {{.name = "note.txt", .bytes = zeros, .deflate = true}};
  std::string packed = *WriteZip(entries);
  // Says that it unpacks to 3 GiB.
  for (const size_t at : {packed.find("PK\x03\x04") + 22, packed.find("PK\x01\x02") + 24}) {
    Put(packed, at, uint64_t{3} << 30, 4);
  }
  out.push_back({"a ratio that deflate cannot reach", packed, "the limit compression-ratio"});
  std::string lying = *WriteZip(entries);
  for (const size_t at : {lying.find("PK\x03\x04") + 22, lying.find("PK\x01\x02") + 24}) {
    Put(lying, at, 10, 4);
  }
  out.push_back({"unpacks to more than it says", lying, "no manifest.json"});
  out.push_back({"zeros", ZipOf(With("note.txt", bomb[0].second)), "not in the manifest"});
  out.push_back({"a bundle inside", ZipOf(With("note.txt", good)), "not in the manifest"});
}

}  // namespace

std::vector<std::pair<std::string, std::string>> GoodParts() {
  BundleManifest manifest;
  manifest.tool = "hloscope";
  manifest.module = "m";
  manifest.sentence = "it ran";
  manifest.recorded.status = RunStatus::kRan;
  const std::string module(kModule);
  const dump::BundleFile::Listed listed[] = {
      {dump::BundlePart::kModule, static_cast<int64_t>(module.size()), dump::BundleHash(module)}};
  return {{"manifest.json", ManifestJson(manifest, listed)}, {"module.hlo", module}};
}

std::string ZipOf(const std::vector<std::pair<std::string, std::string>>& parts) {
  std::vector<ZipEntry> entries;
  for (const auto& [name, bytes] : parts) entries.push_back({.name = name, .bytes = bytes});
  return *WriteZip(entries);
}

std::vector<HostileBundle> Attacks() {
  std::vector<HostileBundle> out;
  AddNames(out);
  AddManifests(out);
  AddRecords(out);
  AddBombs(out);
  return out;
}

}  // namespace hloscope::debug
