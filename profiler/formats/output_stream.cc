#include "profiler/formats/output_stream.h"

#include <utility>

namespace hloscope::profiler {

Result<OutputStream> OutputStream::Create(const std::string& path) {
  HLOSCOPE_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  std::optional<GzipStream> gzip;
  if (path.ends_with(".gz")) gzip.emplace();
  return OutputStream(std::move(file), std::move(gzip));
}

Status OutputStream::Write() {
  if (!gzip_) {
    HLOSCOPE_TRY(file_.Append(buffer_));
  } else {
    packed_.clear();
    gzip_->Append(buffer_, packed_);
    HLOSCOPE_TRY(file_.Append(packed_));
  }
  buffer_.clear();
  return {};
}

Status OutputStream::Finish() {
  HLOSCOPE_TRY(Write());
  if (gzip_) {
    packed_.clear();
    gzip_->Finish(packed_);
    HLOSCOPE_TRY(file_.Append(packed_));
  }
  return file_.Finish();
}

}  // namespace hloscope::profiler
