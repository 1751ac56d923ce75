// Libraries that are not loaded, by FAULT; without the header, as one of another version might be.
struct Description {
  int interface;
  const char* libtorch;
  const char* name;
  const char* version;
  void (*add_kinds)(void* registry);
};

extern "C" {
#if FAULT == 1  // of another version of the interface
extern const Description dtrain_plugin;
const Description dtrain_plugin = {1000, "2.11.0", "refused", "1.0", nullptr};
#elif FAULT == 2  // of another LibTorch
extern const Description dtrain_plugin;
const Description dtrain_plugin = {1, "1.13.1", "refused", "1.0", nullptr};
#elif FAULT == 3  // it needs a function that this LibTorch has not
void function_of_another_libtorch(void* registry);
extern const Description dtrain_plugin;
const Description dtrain_plugin = {1, "2.11.0", "refused", "1.0", function_of_another_libtorch};
#else             // no plug-in
int nothing() { return 0; }
#endif
}
