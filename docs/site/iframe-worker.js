// A browser starts no worker from a file, and the site's search is one. In a page that was opened as a file, a hidden frame
// runs the worker's script instead: it has the few names that the script expects of a worker, and passes messages on.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      this.started = new Promise(resolve => frame.addEventListener("load", resolve))
      document.documentElement.appendChild(frame)
      const inside = frame.contentWindow
      inside.document.open()
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.importScripts = (...scripts) => scripts.reduce((before, script) => before.then(() => new Promise((resolve, reject) => {
        const element = inside.document.createElement("script")
        element.src = script
        element.onload = resolve
        element.onerror = () => reject(new Error(`cannot read ${script}`))
        inside.document.head.appendChild(element)
      })), Promise.resolve())
      inside.document.write(`<head><base href="${document.baseURI}"><script src="${url}"></script></head>`)
      inside.document.close()
      this.frame = frame
    }

    postMessage(data) {
      this.started.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
