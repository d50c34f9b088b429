// What CUPTI loads by name, libnvperf_host.so, as far as tests need it: it is there.
extern "C" int hloscope_fake_nvperf() { return 1; }
