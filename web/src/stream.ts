// The worker that all tabs of a browser share.
import { Watcher, type Heard, type Said } from "./watcher";

const watcher = new Watcher();

self.addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0];
  if (port === undefined) return;
  const tab = (heard: Heard): void => port.postMessage(heard);
  port.onmessage = ({ data }: MessageEvent<Said>) => {
    if (data.kind === "watch") watcher.watch(tab, data.target, data.again);
    else watcher.leave(tab);
  };
});
