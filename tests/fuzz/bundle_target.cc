// Bundles as the input of a target: opened, every part read, the manifest understood.
#include "tests/fuzz/bundle_target.h"

#include <cstdio>
#include <cstdlib>

#include "core/debug/bundle/manifest.h"
#include "core/dump/bundle_file.h"
#include "core/dump/listing/sniff.h"

namespace hloscope::fuzz {

using dump::BundleFile;
using dump::BundlePart;

std::string BundleSeed(std::string_view file) {
  if (dump::Sniff(file) != dump::FileKind::kHloText) return "";
  debug::BundleManifest manifest;
  manifest.module = "m";
  const BundleFile::Listed listed[] = {
      {BundlePart::kModule, static_cast<int64_t>(file.size()), dump::BundleHash(file)}};
  const std::string json = ManifestJson(manifest, listed);
  const ZipEntry entries[] = {{.name = "manifest.json", .bytes = json},
                              {.name = "module.hlo", .bytes = file, .deflate = true}};
  return WriteZip(entries).value_or("");
}

void FuzzBundle(std::string_view input) {
  Limits limits;
  limits.archive_bytes = limits.archive_member_bytes = 16 << 20;
  const auto refuse = [](const Error& error) {
    if (!error.message.empty() && error.error_class != ErrorClass::kInternal) return;
    std::fprintf(stderr, "oracle broken: bundle: refused without a reason\n");
    std::abort();
  };
  const auto bundle = BundleFile::Open(FileView::FromBytes("b", std::string(input)), limits);
  if (!bundle) return refuse(bundle.error());
  for (const BundlePart part : bundle->Parts()) {
    if (const auto bytes = bundle->Read(part); !bytes) refuse(bytes.error());
  }
  const auto manifest = debug::ManifestFromJson(bundle->manifest());
  if (!manifest) return refuse(manifest.error());
  (void)RunOptionsText(manifest->request);
}

}  // namespace hloscope::fuzz
