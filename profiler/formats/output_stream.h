// OutputStream: a file that an exporter fills piece by piece, packed where its name ends with .gz.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/deflate.h"
#include "core/base/file_writer.h"
#include "core/base/result.h"

namespace hloscope::profiler {

class OutputStream {
 public:
  // As FileWriter::Create.
  static Result<OutputStream> Create(const std::string& path);

  // What is appended here is part of the file.
  std::string& buffer() { return buffer_; }
  // Hands on what the buffer holds if that is much.
  Status Drain() { return buffer_.size() < kMuch ? Status() : Write(); }
  Status Finish();

 private:
  static constexpr size_t kMuch = 1 << 20;
  OutputStream(FileWriter file, std::optional<GzipStream> gzip)
      : file_(std::move(file)), gzip_(std::move(gzip)) {}
  Status Write();

  FileWriter file_;
  std::optional<GzipStream> gzip_;
  std::string buffer_, packed_;
};

}  // namespace hloscope::profiler
