// BundleFile: a bug bundle (.hlob) as an archive with a list of its parts. What the manifest says
// of the run is core/debug/bundle's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/zip.h"

namespace hloscope::dump {

enum class BundlePart : uint8_t {
#define PART(kind, file, what) kind,
#include "core/dump/bundle_parts.def"
#undef PART
};
std::string_view FileOf(BundlePart part);
std::string_view Describe(BundlePart part);
// The part whose file is called so; nullopt: bundles have no such file.
std::optional<BundlePart> BundlePartFromFile(std::string_view file);

// The version of the format that is written; all from 1 on are read.
// 2 has inputs of the reduced module, 3 kernels of a dump and the simulated device, 4 choices
// between ways of libraries, 5 inputs as literals of run_hlo_module.
inline constexpr int64_t kBundleVersion = 5;
inline constexpr std::string_view kBundleFormat = "hlob";

class BundleFile {
 public:
  // Input errors, each with its reason: no zip file, or one that ZipRules::kStrict refuses; no
  // manifest, or a broken one, or of a newer version; parts that bundles do not have, that are not
  // in the manifest or of another size than it says. Only the manifest is unpacked.
  static Result<BundleFile> Open(FileView file, const Limits& limits = {});
  static Result<BundleFile> Open(const std::string& path, const Limits& limits);

  const std::string& path() const { return zip_.path(); }
  int64_t version() const { return version_; }
  const std::string& manifest() const { return manifest_; }  // JSON
  bool Has(BundlePart part) const { return zip_.Find(FileOf(part)) != nullptr; }
  std::vector<BundlePart> Parts() const;  // in the order of the file
  int64_t SizeOf(BundlePart part) const;
  // Unpacks one. Input errors: it is not there, or damaged.
  Result<std::string> Read(BundlePart part) const;
  // True where the part still has the hash that the manifest gives it.
  Result<bool> IsUnchanged(BundlePart part) const;
  // The module: its proto where there is one, else its text.
  Result<FileView> ModuleFile() const;

  // The part of a manifest that Open checks; `hash` of the bytes is BundleHash.
  struct Listed {
    BundlePart part = BundlePart::kManifest;
    int64_t bytes = 0;
    std::string hash;
  };
  std::span<const Listed> listed() const { return listed_; }

 private:
  explicit BundleFile(ZipArchive zip) : zip_(std::move(zip)) {}
  Status ReadManifest();
  Status CheckParts() const;
  std::unexpected<Error> Bad(std::string_view what) const;

  ZipArchive zip_;
  std::string manifest_;
  int64_t version_ = 0;
  std::vector<Listed> listed_;
};

// Nothing where the file is no bundle, or `path` is "-", standard input.
Result<std::optional<BundleFile>> OpenIfBundle(const std::string& path, const Limits& limits);

// What a manifest says of a part's bytes, 16 digits: shows damage and edits, proves nothing.
std::string BundleHash(std::string_view bytes);

}  // namespace hloscope::dump
