// A profile that has one of everything, for tests of formats; and profiles as text, to compare
// them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "profiler/event_store_builder.h"
#include "tests/profiler/trace_fixture.h"

namespace hloscope::profiler {

// Arguments by the place that is their index.
class ListedArguments : public ArgumentSource {
 public:
  explicit ListedArguments(std::vector<std::vector<Argument>> lists) : lists_(std::move(lists)) {}
  std::vector<Argument> Read(uint64_t where) const override { return lists_[where]; }

 private:
  std::vector<std::vector<Argument>> lists_;
};

// A device with a stream whose events overlap and nest, a host thread, counters, a module, facts.
inline std::shared_ptr<Profile> SampleProfile() {
  EventStoreBuilder builder;
  builder.set_origin_ns(1'722'345'678'901'234'567);
  builder.set_arguments(std::make_shared<ListedArguments>(std::vector<std::vector<Argument>>{
      {},
      {{"correlation_id", int64_t{-7}},
       {"bytes", uint64_t{18'446'744'073'709'551'615u}},
       {"rate", 2.5},
       {"kernel_details", std::string("regs:32 grid:1,2,3 \"x\"\n")}}}));
  const uint32_t device = builder.AddGroup("/device:GPU:0", true);
  builder.SetFacts(device, {{"peak_teraflops_per_second", 67.0}, {"core_count", int64_t{132}}});
  const uint32_t host = builder.AddGroup("/host:CPU", false);
  const LaneId stream = builder.AddLane(device, "Stream #7(Compute)", LaneRole::kStream);
  const LaneId thread = builder.AddLane(host, "main, with \"quotes\"", LaneRole::kThread);
  const OperationId dot = builder.AddOperation(
      {.module = builder.Name("jit_f"), .name = builder.Name("dot.4"), .program = 14});
  const NameId kernel = builder.Name("gemm_fusion_dot_4"), call = builder.Name("ünicode call");
  (void)builder.Add(stream, 1'000'500, 2'000'001, kernel, dot, 1);
  (void)builder.Add(stream, 2'000'000, 5'000'000, builder.Name("loop_add_fusion"));
  (void)builder.Add(stream, 2'000'000, 5'000'000, builder.Name("loop_add_fusion"));
  (void)builder.Add(stream, 2'500'000, 1'000, builder.Name("memcpy"));
  (void)builder.Add(thread, 0, 90'000'000, call, {}, 1);
  (void)builder.Add(thread, 1'000'000, 0, builder.Name("mark"));
  (void)builder.Add(thread, 5'000'000, 10'000'000, builder.Name("inner"), dot);
  const CounterId memory = builder.AddCounter(device, "memory in use", "bytes");
  for (int i = 0; i < 5; ++i) (void)builder.AddSample(memory, i * 7'000'000, 1024.0 * i + 0.5);
  auto profile =
      std::make_shared<Profile>(FileView::FromBytes("made", ""), ProfileFormat::kHloprof);
  profile->store = builder.Finish(SharedJobs(2)).value();
  static constexpr std::string_view kModule =
      "HloModule jit_f\n\nENTRY e { ROOT p = f32[] parameter(0) }\n";
  profile->modules.push_back(
      {.name = "jit_f(14)", .program = 14, .hlo_text = kModule, .fingerprint = "0123456789abcdef"});
  profile->environment = {{"jaxlib", "0.10.2"}, {"device", "H100"}};
  profile->hosts = {"host"};
  profile->errors = {"an error"};
  profile->warnings = {"a warning"};
  return profile;
}

// Events as "group|lane|role|name|start|duration|operation" in nanoseconds since the epoch of the
// clock, times rounded down to multiples of `unit` picoseconds; sorted.
inline std::vector<std::string> TextsOf(const Profile& profile, int64_t unit) {
  const EventStore& store = *profile.store;
  auto time = [&](int64_t ps) {
    const int64_t rest = (ps % 1000 + 1000) % 1000;
    return std::to_string(store.origin_ns() + (ps - rest) / 1000) + "." +
           std::to_string(rest - rest % unit);
  };
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < store.size(); ++i) {
    const EventId e(i);
    const Lane& lane = store.lanes()[store.LaneOf(e).index];
    const Group& group = store.groups()[lane.group];
    std::string text(store.text(group.name));
    text.append(group.is_device ? "(device)|" : "|").append(store.text(lane.name));
    text.append("|").append(ToString(lane.role)).append("|").append(store.text(store.name(e)));
    text += "|" + time(store.start(e)) + "|" + time(store.end(e));
    if (const OperationId o = store.operation(e); o.valid()) {
      const Operation& operation = store.operations()[o.index];
      text.append("|").append(store.text(operation.module)).append(":");
      text.append(store.text(operation.name)).append(":").append(std::to_string(operation.program));
    }
    texts.push_back(std::move(text));
  }
  for (const Counter& counter : store.counters()) {
    for (uint32_t i = 0; i < counter.sample_count; ++i) {
      std::string text(store.text(store.groups()[counter.group].name));
      text.append("|").append(store.text(counter.name)).append("|");
      text += time(store.times(counter)[i]) + "|" + std::to_string(store.values(counter)[i]);
      texts.push_back(std::move(text));
    }
  }
  std::ranges::sort(texts);
  return texts;
}

inline std::string TextOf(const Argument& argument) {
  std::ostringstream out;
  out << argument.name << "=";
  std::visit([&](const auto& value) { out << value; }, argument.value);
  return out.str();
}

// A folder that is gone afterwards.
class ProfileFolder {
 public:
  ProfileFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "profileXXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~ProfileFolder() { std::filesystem::remove_all(path_); }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string BytesOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// The bytes of a profile written as a file of that name.
inline std::string Written(const Profile& profile, const std::string& name,
                           std::vector<Loss>* lost = nullptr) {
  const ProfileFolder folder;
  auto losses = WriteProfile({profile, nullptr, folder.Path(name)});
  EXPECT_TRUE(losses.has_value()) << losses.error().ToString();
  if (losses && lost != nullptr) *lost = *losses;
  return BytesOfFile(folder.Path(name));
}

}  // namespace hloscope::profiler
