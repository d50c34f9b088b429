// .npz archives: zip files of .npy members.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/zip.h"

namespace hloscope::dump {

class NpzArchive {
 public:
  // Input errors as of ZipArchive.
  static Result<NpzArchive> Open(FileView file, const Limits& limits = {});

  // Member names without their ".npy", in the order of the archive.
  std::vector<std::string> Names() const;
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  // The unpacked .npy file of the member called `name`; an input error if there is none, or if its
  // size or CRC is not as declared.
  Result<std::string> Read(std::string_view name) const;
  const std::string& path() const { return zip_.path(); }

 private:
  explicit NpzArchive(ZipArchive zip) : zip_(std::move(zip)) {}
  const ZipArchive::Member* Find(std::string_view name) const;

  ZipArchive zip_;
};

// An archive of the members (name without ".npy", bytes of the .npy file), stored. As WriteZip.
Result<std::string> WriteNpz(std::span<const std::pair<std::string, std::string>> members,
                             uint64_t wide_from = 0xffffffff);

}  // namespace hloscope::dump
