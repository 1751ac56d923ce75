#include "images/image_memory.h"

#include <string>

#include "core/error.h"
#include "core/text.h"
#include "host/host_memory.h"
#include "images/shared_memory.h"

namespace dtrain {
namespace {

constexpr double kMostOfMemory = 0.75;

void require_room(const ImageSet& set, double most_gigabytes) {
  const int64_t bytes = image_block_bytes(std::ssize(set.files), set.bytes_of_one());
  const std::string instead = "use a smaller data.image.size, or data.cache: disk";
  require_cache_limit(bytes, most_gigabytes, need_of_images(set), instead);
  if (static_cast<double>(bytes) > kMostOfMemory * static_cast<double>(memory_for_all()))
    throw Error(ExitCode::kUsage, "data.cache: memory: {}, which is too much for the {} of this host; {}",
                need_of_images(set), human_bytes(memory_for_all()), instead);
}

}  // namespace

at::Tensor images_in_memory(const ImageSet& set, const ImageCacheOptions& options) {
  const auto fill = [&](const OpenFile& memory) {
    require_room(set, options.most_gigabytes);
    write_image_block(memory, set, options);
  };
  return ImageBlock(shared_memory(image_block_key(set), fill), set).images();
}

}  // namespace dtrain
