// Runs of passes: from the metadata file, and how long each took by itself.
#include <algorithm>

#include "core/analysis/compilation/compile_time.h"
#include "core/dump/readers/text_proto.h"

namespace hloscope::analysis {

bool IsAutotunerPass(std::string_view pass) {
#define AUTOTUNER_PASS(name) \
  if (pass == name) return true;
#include "core/analysis/compilation/autotuner_passes.def"
#undef AUTOTUNER_PASS
  return false;
}

PassSpan FindSelfTimes(std::vector<PassRun>& runs) {
  PassSpan out;
  if (runs.empty()) return out;
  // Open runs, outermost first, and up to where the runs in each are counted.
  std::vector<std::pair<size_t, int64_t>> open;
  const int64_t begin = runs.front().start_us;
  int64_t end = begin;  // of what is counted outside of all runs
  for (size_t k = 0; k < runs.size(); ++k) {
    PassRun& run = runs[k];
    auto is_around = [&](const std::pair<size_t, int64_t>& around) {
      const PassRun& outer = runs[around.first];
      return outer.pass == run.pipeline && outer.start_us <= run.start_us &&
             run.end_us <= outer.end_us;
    };
    const auto around = std::find_if(open.rbegin(), open.rend(), is_around);
    open.erase(around.base(), open.end());
    int64_t& counted = open.empty() ? end : open.back().second;
    if (run.start_us < counted || run.end_us < run.start_us) {
      ++out.overlapping;
      run.start_us = std::max(run.start_us, counted);
      run.end_us = std::max(run.start_us, run.end_us);
      if (!open.empty()) {
        run.end_us = std::min(run.end_us, runs[open.back().first].end_us);
        run.start_us = std::min(run.start_us, run.end_us);
      }
    }
    run.self_us = run.end_us - run.start_us;
    if (open.empty()) {
      out.between_us += run.start_us - end;
    } else {
      runs[open.back().first].self_us -= run.self_us;
    }
    counted = run.end_us;
    open.emplace_back(k, run.start_us);
  }
  out.span_us = end - begin;
  return out;
}

PassMetadata ReadPassMetadata(std::string_view text) {
  PassMetadata out;
  const dump::TextProto proto(text);
  proto.root().Each([&](const dump::TextProto::Field& field, dump::TextProto::Message record) {
    if (field.name != "pass_metadata") return;
    PassRun run{.pass = record.Text("pass_name"), .pipeline = record.Text("pipeline_name")};
    const auto start = record.Int("start_timestamp_usec");
    const auto end = record.Int("end_timestamp_usec");
    constexpr int64_t kLatest = int64_t{1} << 60;  // so that no sum or difference overflows
    if (!start || !end || *start < 0 || *end < 0 || *start > kLatest || *end > kLatest) {
      ++out.unfinished;
      return;
    }
    run.start_us = *start;
    run.end_us = *end;
    run.is_changed = record.Text("module_changed") == "true";
    record.Each([&](const dump::TextProto::Field& inner, const dump::TextProto::Message&) {
      if (inner.name != "dump_filenames") return;
      std::string file = dump::TextProto::Decode(inner.raw);
      run.files.push_back(file.substr(file.rfind('/') + 1));
    });
    out.runs.push_back(std::move(run));
  });
  if (!proto.why().empty())
    out.why = "line " + std::to_string(proto.why_line()) + ": " + proto.why();
  // Passes are written in order of start; other writers may not.
  std::ranges::stable_sort(out.runs, {}, &PassRun::start_us);
  return out;
}

}  // namespace hloscope::analysis
